"""Many questions at once: all finish, no batch starves, and Redis holds only the hot set."""

from __future__ import annotations

import pytest
import redis
from sqlalchemy import func, select, text

from tests.engine.fleet import THINK, Fleet, slowness
from tests.engine.questions import long_ones, sums
from tests.engine.wholeness import assert_nothing_left_in_redis, assert_whole
from worker.core.states import Klass
from worker.store.schema.tables import active, runs, steps

pytestmark = pytest.mark.timeout(300)


def test_a_thousand_questions_finish_while_redis_holds_the_hot_set_only(fleet: Fleet) -> None:
    for _ in range(2):
        fleet.start(slots=8, HOT_SET="64")
    batch = fleet.submit(sums(1000))
    most = 0

    def watch() -> bool:
        nonlocal most
        with redis.Redis.from_url(fleet.redis_url) as client:
            most = max(most, client.llen("think") + client.llen("tools.local"))
        assert fleet.rows(select(func.count()).select_from(active))[0][0] <= 64
        return fleet.ended(batch) == 1000

    fleet.wait("all have ended", watch, 120)
    assert fleet.finish(batch) == {"succeeded": 1000}
    assert 0 < most <= 2 * 64, "a work message for each run in motion, and no more than one that was sent again"
    assert_whole(fleet, batch)
    assert_nothing_left_in_redis(fleet)


def test_short_runs_submitted_later_and_a_single_question_do_not_wait_behind_a_backlog(fleet: Fleet) -> None:
    latency_s = 0.3
    fleet.practice.control(latency=str(latency_s))
    fleet.env["STEPMILL_HOT_SET"] = "32"  # every worker has an admitter
    fleet.start(["think", "tools.test", "tools.local"], slots=8)
    fleet.start(["think.interactive", "tools.local"], slots=2)
    early = fleet.submit(long_ones(200, 20))
    fleet.wait("the hot set is full of long runs", lambda: _hot(fleet, early) == 32)

    question = fleet.submit(sums(1), klass=Klass.INTERACTIVE)
    first_step = select(steps.c.created_at - runs.c.created_at).join(runs, runs.c.id == steps.c.run_id)
    first_step = first_step.where(runs.c.batch_id == question, steps.c.step == 1)
    fleet.wait("the single question's first step is done", lambda: fleet.rows(first_step))
    began_s = fleet.rows(first_step)[0][0] - latency_s
    assert began_s < (2 * latency_s + 0.3) * slowness(), "its first model call began within two latencies"

    late = fleet.submit(sums(60))
    fleet.wait("the later batch holds its half of the hot set", lambda: _hot(fleet, late) >= 12, 40)
    before = fleet.ended(early)
    fleet.wait("it is through while the long runs go on", lambda: fleet.ended(late) == 60, 60)
    assert before < 200 and fleet.ended(early) < 200


def _hot(fleet: Fleet, batch_id: str) -> int:
    return int(fleet.rows(select(func.count()).select_from(active).where(active.c.batch_id == batch_id))[0][0])


def test_think_workers_and_each_tool_group_alone_answer_a_batch_with_few_connections(fleet: Fleet) -> None:
    fleet.practice.control(latency=f"{5 * slowness():.0f}")  # so that they are all under way at once
    think = fleet.start(THINK, slots=300, HOT_SET="400", DB_POOL="8")
    for group in ("tools.local", "tools.test"):
        fleet.start([group], pool="prefork", slots=1)
    batch = fleet.submit(sums(290) + long_ones(10, 3))
    fleet.wait("three hundred calls are in flight", lambda: _in_flight(fleet) >= 280, 40)
    if fleet.store.postgres:
        assert _connections(fleet) <= 3 * 8 + 2 + 4, "a pool for each worker, its children, and this test's own"
    fleet.practice.control(latency="0")
    assert fleet.finish(batch, 90) == {"succeeded": 300}
    assert think.alive
    assert_whole(fleet, batch)


def _connections(fleet: Fleet) -> int:
    query = text("SELECT count(*) AS held FROM pg_stat_activity WHERE datname = current_database()")
    return int(fleet.rows(query)[0].held)


def _in_flight(fleet: Fleet) -> int:
    """How many requests the practice model works on; the most so far is told where the test fails."""
    stats = fleet.practice.stats()
    fleet.last_seen = stats["in_flight_most"]
    return int(stats["in_flight"])
