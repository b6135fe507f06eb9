"""Workers' wall clocks are off, or jump: the database's clock and ticks decide, so no worker counts as dead."""

from __future__ import annotations

import datetime

import pytest
from sqlalchemy import select

from tests.engine.fleet import SLACK_S, Fleet
from tests.engine.questions import mixed, sums
from tests.engine.wholeness import assert_money, assert_nothing_left_in_redis, assert_whole
from worker.store.schema.tables import attempts, workers

pytestmark = pytest.mark.timeout(300)

DAY_S = 86_400.0


def test_workers_whose_clocks_are_off_or_jump_are_not_missed_and_do_nothing_twice(fleet: Fleet) -> None:
    fleet.practice.control(latency="uniform:0,0.1")
    early, late, jumping = (fleet.start() for _ in range(3))
    early.set_clock_off(-DAY_S)
    late.set_clock_off(DAY_S)
    batch = fleet.submit(mixed(120))
    for part, seconds in ((15, 3_600), (30, -3_600), (50, 40), (70, -40), (90, 2 * DAY_S), (110, 0)):
        fleet.wait_for_ended(batch, part)
        jumping.set_clock_off(seconds)
    assert fleet.finish(batch) == {"succeeded": 120}
    assert str(datetime.date.today() + datetime.timedelta(1)) in late.output(), "its clock was off indeed"
    assert [row.state for row in fleet.rows(select(workers))] == ["up"] * 3
    assert {row.outcome for row in fleet.rows(select(attempts))} == {"ok"}, "no attempt was repeated or timed out"
    assert_whole(fleet, batch)
    assert_money(fleet)
    assert_nothing_left_in_redis(fleet)


def test_a_dead_worker_is_missed_in_the_stated_time_by_one_whose_clock_is_off(fleet: Fleet) -> None:
    fleet.practice.control(latency="60")
    victim = fleet.start(slots=4)
    batch = fleet.submit(sums(4))
    fleet.wait("the model is asked", lambda: fleet.practice.stats()["in_flight"] == 4)
    fleet.practice.control(latency="0")
    fleet.start(slots=4).set_clock_off(-DAY_S)
    victim.kill()
    lost = select(attempts.c.token).where(attempts.c.outcome == "lost")
    limit_s = fleet.settings.takeover_s + SLACK_S
    fleet.wait("its leases are taken over", lambda: len(fleet.rows(lost)) == 4, limit_s)
    assert fleet.finish(batch) == {"succeeded": 4}
    assert_whole(fleet, batch)
