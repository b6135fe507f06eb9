"""Process pools: a child's death is reported at once, and work that kills every process is found out."""

from __future__ import annotations

import signal

import pytest
from sqlalchemy import select

from tests.engine.fleet import SLACK_S, THINK, Fleet
from tests.engine.questions import counted, sums
from tests.engine.wholeness import assert_whole
from worker.celery_app import make_app
from worker.settings import Settings
from worker.store.schema.tables import attempts, tool_calls, workers

pytestmark = pytest.mark.timeout(300)


def test_a_pool_child_that_is_killed_is_reported_long_before_its_worker_could_be_missed(fleet: Fleet) -> None:
    fleet.env |= {"STEPMILL_BEAT_S": "5", "STEPMILL_TICK_S": "5"}  # a lost worker would be missed after 40 s
    fleet.env["STEPMILL_OWNER_FILE"] = str(fleet.directory / "of-another-worker")  # as if that one had started these
    fleet.start(THINK)
    tools = fleet.start(["tools.slow", "tools.test"], pool="prefork", slots=2)
    batch = fleet.submit(["Use doze(seconds=300) then look_up(name='a').", "Use compute(seconds=300)."])
    fleet.wait("both tools run", lambda: len(fleet.in_flight(call=True)) == 2)
    fleet.wait("the effect is under way", lambda: sum(fleet.counter.counts.values()) == 1)
    held = fleet.in_flight(call=True)
    for child in tools.children():
        child.kill()
    told = select(attempts).where(attempts.c.token.in_([row.token for row in held]), attempts.c.outcome == "lost")
    fleet.wait("the parent has told of both", lambda: len(fleet.rows(told)) == 2, 5)
    observed = select(tool_calls.c.observation).where(tool_calls.c.tool == "compute")
    fleet.wait("the model knows that the outcome is unknown", lambda: fleet.rows(observed)[0].observation, 5)
    assert "not known whether it took effect" in fleet.rows(observed)[0].observation
    again = select(attempts).where(attempts.c.ended_at.is_(None), attempts.c.attempt == 2)
    fleet.wait("the repeatable call runs again", lambda: len(fleet.rows(again)) == 1, 10)
    assert fleet.ended(batch) == 0 and fleet.rows(select(workers).where(workers.c.state == "dead")) == []


def test_a_tool_that_kills_its_process_each_time_ends_poisoned_alone_and_its_neighbours_do_not(fleet: Fleet) -> None:
    fleet.start(THINK)
    fleet.start(["tools.deadly", "tools.test"], pool="prefork", slots=2)
    fleet.start(["quarantine"], pool="prefork", slots=1)
    deadly = fleet.submit(["Use die(name='x')."])
    innocent = fleet.submit([*counted(6, "lamb"), *[f"Use live_on(name='n{n}')." for n in range(6)]])
    assert fleet.finish(deadly, 60) == {"failed": 1}
    assert fleet.finish(innocent, 60) == {"succeeded": 12}
    (run,) = fleet.runs(deadly)
    assert run.error_code == "poisoned"
    deaths = fleet.rows(select(attempts).where(attempts.c.run_id == run.id, attempts.c.call > 0))
    assert [row.queue for row in sorted(deaths, key=lambda row: row.attempt)] == [
        "tools.deadly", "tools.deadly", "quarantine.deadly"
    ]  # fmt: skip
    assert_whole(fleet, innocent)


LEFT = {
    "exit": "leave failed with SystemExit: on purpose.",
    "parser": "unrecognized arguments: --now. usage: leave [-h].",
    "cancel": "leave failed with CancelledError: on purpose.",
    "interrupt": "leave failed with KeyboardInterrupt: on purpose.",
}


@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_a_tool_that_exits_or_cancels_itself_has_failed_and_its_process_lives_on(fleet: Fleet, pool: str) -> None:
    fleet.start(THINK)
    tools = fleet.start(["tools.deadly"], pool=pool, slots=1)
    batch = fleet.submit([f"Use leave(how='{how}')." for how in LEFT])
    fleet.finish(batch, 60)
    seen = " ".join(row.observation for row in fleet.rows(select(tool_calls)))
    assert all(said in seen for said in LEFT.values()), seen
    outcomes = {row.outcome for row in fleet.rows(select(attempts).where(attempts.c.call > 0))}
    assert outcomes == {"error"}
    assert tools.alive


def test_a_message_that_an_older_version_sent_to_the_one_quarantine_reaches_that_of_its_kind(fleet: Fleet) -> None:
    fleet.env["STEPMILL_PARK_AFTER_S"] = "300"  # nobody serves the call's usual queue here
    fleet.start(THINK)
    fleet.start(["quarantine.test"], pool="prefork", slots=1)
    batch = fleet.submit(["Use look_up(name='a')."])
    fleet.wait("the call waits", lambda: fleet.rows(select(tool_calls)))
    (run,) = fleet.runs(batch)
    old = make_app(Settings(redis_url=fleet.redis_url))
    old.send_task(
        "tools.look_up", args=[run.id, 1, 1, 1], queue="quarantine", task_id=f"{run.id}.1.1.1", ignore_result=True
    )
    assert fleet.finish(batch, 60) == {"succeeded": 1}


def test_a_worker_that_dies_with_its_thread_pool_takes_nobody_down_with_the_guilty_run(fleet: Fleet) -> None:
    fleet.start(THINK)
    fleet.start(["quarantine"], pool="prefork", slots=1)
    fleet.start(["tools.deadly", "tools.test"], slots=4)
    deadly = fleet.submit(["Use die(name='x')."])
    fleet.wait("the worker is dead", lambda: not fleet.workers[2].alive)
    innocent = fleet.submit([f"Use live_on(name='n{n}')." for n in range(4)])
    fleet.start(["tools.deadly", "tools.test"], slots=4, wait=False)
    fleet.wait("the second is dead too", lambda: not fleet.workers[3].alive)
    fleet.start(["tools.deadly", "tools.test"], slots=4)
    assert fleet.finish(deadly, 30) == {"failed": 1}
    assert fleet.runs(deadly)[0].error_code == "poisoned"
    assert fleet.finish(innocent, 30) == {"succeeded": 4}


def test_sigterm_hands_long_calls_back_and_others_go_on_with_them(fleet: Fleet) -> None:
    fleet.practice.control(latency="60")
    leaving = [
        fleet.start(THINK, slots=4),
        fleet.start(["tools.slow"], slots=4),
        fleet.start(["tools.deadly"], pool="prefork", slots=1),
    ]
    batch = fleet.submit(sums(2))
    fleet.wait("the model is asked", lambda: fleet.practice.stats()["in_flight"] == 2)
    fleet.practice.control(latency="0")
    naps = fleet.submit(["Use nap(seconds=300).", "Use linger(seconds=300)."])
    fleet.wait("the tools run", lambda: len(fleet.in_flight(call=True)) == 2, 60)
    held = [row.token for row in (*fleet.in_flight(call=False), *fleet.in_flight(call=True))]
    for worker in leaving:
        worker.signal(signal.SIGTERM)
    gone = "all have left within their grace and the margin"
    fleet.wait(gone, lambda: not any(worker.alive for worker in leaving), 4 + SLACK_S)
    outcomes = fleet.rows(select(attempts).where(attempts.c.token.in_(held)))
    assert [row.outcome for row in outcomes] == ["handed_back"] * 4
    fleet.start((*THINK, "tools.local"))
    assert fleet.finish(batch, 20) == {"succeeded": 2}
    assert [run.attempts for run in fleet.runs(batch)] == [3, 3], "a hand-back is no attempt"
    assert fleet.practice.stats()["client_gone"] == 2, "the model was told to stop, too"
    states = {row.id: row.state for row in fleet.rows(select(workers))}
    assert sorted(states.values()) == ["stopped", "stopped", "stopped", "up"]
    assert fleet.ended(naps) == 0
