"""Cancel and pause: sockets are closed, processes killed, and no further step starts."""

from __future__ import annotations

import statistics

import psutil
import pytest
from sqlalchemy import func, select

from tests.engine.fleet import THINK, Fleet, slowness
from tests.engine.questions import long_ones
from worker.celery_app import make_app
from worker.dispatch import Dispatcher, connect_redis
from worker.settings import Settings
from worker.store.control.stopping import cancel_batch, cancel_chunk, cancel_run, pause_batch, resume_batch
from worker.store.schema.tables import active, runs, steps

pytestmark = pytest.mark.timeout(300)


def cancel_all(fleet: Fleet, *batch_ids: str) -> None:
    """As the API does it: the flag, the rows, and a word to the workers."""
    dispatcher = Dispatcher(make_app(Settings(redis_url=fleet.redis_url)), connect_redis(fleet.redis_url))
    for batch_id in batch_ids:
        for run in fleet.runs(batch_id):
            stopped = cancel_run(fleet.store, run.id)
            assert stopped is not None
            dispatcher.abort(stopped.aborted)
    dispatcher.redis.close()


def seconds_to_stop(fleet: Fleet, batch_id: str) -> float:
    """The median over its runs from asking to the last attempt's end, as the database's clock has it."""
    query = select(runs.c.stopped_at - runs.c.stop_asked_at).where(runs.c.batch_id == batch_id)
    return float(statistics.median(row[0] for row in fleet.rows(query)))


def has_stopped(fleet: Fleet, batch_id: str) -> bool:
    return all(run.stopped_at is not None for run in fleet.runs(batch_id))


def test_a_cancel_closes_the_models_socket_and_ends_tools_in_threads_and_in_processes(fleet: Fleet) -> None:
    fleet.start(THINK)
    fleet.start(["tools.slow"])
    processes = fleet.start(["tools.python", "tools.test", "tools.deadly"], pool="prefork", slots=4)
    in_threads = fleet.submit(["Use nap(seconds=300)."] * 3)
    fleet.wait("the tools run", lambda: len(fleet.in_flight(call=True)) == 3)
    in_processes = fleet.submit(["Use linger(seconds=300)."] * 3 + ["Use linger_in_child(seconds=300)."])
    fleet.wait("the processes work too", lambda: len(fleet.in_flight(call=True)) == 7)
    fleet.practice.control(latency="60")
    asking = fleet.submit(["What is 1 + 2?"] * 3)
    fleet.wait("the model is asked", lambda: fleet.practice.stats()["in_flight"] == 3)

    cancel_all(fleet, in_threads, in_processes, asking)

    fleet.wait("the sockets are closed", lambda: fleet.practice.stats()["client_gone"] == 3)
    everything = (in_threads, in_processes, asking)
    fleet.wait("every attempt has stopped", lambda: all(has_stopped(fleet, one) for one in everything))
    fleet.wait("the tool's own child is gone", lambda: not _sleepers(processes.pid))
    for batch_id in everything:
        assert set(fleet.states(batch_id)) == {"cancelled"}
        assert seconds_to_stop(fleet, batch_id) < 2 * slowness()
    later = fleet.submit(["Use count_up(name='after')."])
    fleet.practice.control(latency="0")
    assert fleet.finish(later) == {"succeeded": 1}, "the worker is as good as new"


def _sleepers(pid: int) -> list[psutil.Process]:
    return [p for p in psutil.Process(pid).children(recursive=True) if p.name() == "sleep"]


def test_a_cancel_whose_word_to_the_workers_was_lost_is_noticed_at_their_heartbeats(fleet: Fleet) -> None:
    fleet.start(THINK)
    processes = fleet.start(["tools.deadly"], pool="prefork", slots=1)
    working = fleet.submit(["Use linger_in_child(seconds=300)."])
    fleet.wait("the tool's child sleeps", lambda: _sleepers(processes.pid), 60)
    fleet.practice.control(latency="60")
    asking = fleet.submit(["What is 1 + 2?"] * 2)
    fleet.wait("the model is asked", lambda: fleet.practice.stats()["in_flight"] == 2)
    for run in (*fleet.runs(working), *fleet.runs(asking)):
        assert cancel_run(fleet.store, run.id) is not None
    fleet.wait("the sockets are closed", lambda: fleet.practice.stats()["client_gone"] == 2)
    fleet.wait("the sleeper is gone", lambda: not _sleepers(processes.pid))


def test_a_paused_batch_starts_no_step_until_it_is_resumed_and_a_cancelled_one_none_at_all(fleet: Fleet) -> None:
    fleet.practice.control(latency="0.05")
    fleet.start(slots=8)
    paused, dropped = fleet.submit(long_ones(20, 8)), fleet.submit(long_ones(20, 8))
    fleet.wait("both are under way", lambda: min(_steps(fleet, paused), _steps(fleet, dropped)) > 20)
    assert pause_batch(fleet.store, paused)
    assert cancel_batch(fleet.store, dropped)
    cancel_chunk(fleet.store, dropped)
    parked = select(func.count()).select_from(active).where(active.c.batch_id == paused, active.c.parked.is_(None))
    fleet.wait("the paused runs have given up their slots", lambda: fleet.rows(parked)[0][0] == 0)
    fleet.wait("the cancelled batch has ended", lambda: fleet.ended(dropped) == 20)
    stands = _steps(fleet, paused), _steps(fleet, dropped)
    other = fleet.submit(long_ones(20, 3))
    assert fleet.finish(other) == {"succeeded": 20}
    assert (_steps(fleet, paused), _steps(fleet, dropped)) == stands, "neither moved meanwhile"
    assert resume_batch(fleet.store, paused)
    assert fleet.finish(paused) == {"succeeded": 20}


def _steps(fleet: Fleet, batch_id: str) -> int:
    query = select(func.count()).select_from(steps).join(runs, runs.c.id == steps.c.run_id)
    return int(fleet.rows(query.where(runs.c.batch_id == batch_id))[0][0])
