"""Workers are killed at any time, and every run ends as if they had not been."""

from __future__ import annotations

import random

import pytest
import redis
from sqlalchemy import select

from tests.engine.fleet import SLACK_S, Fleet
from tests.engine.questions import mixed, sums
from tests.engine.wholeness import assert_money, assert_nothing_left_in_redis, assert_whole
from worker.store.schema.tables import attempts

pytestmark = pytest.mark.timeout(300)

LOST = select(attempts.c.token).where(attempts.c.outcome == "lost")


def test_three_hundred_runs_end_whole_while_workers_are_killed_and_replaced(fleet: Fleet) -> None:
    dice = random.Random(5)
    fleet.practice.control(latency="uniform:0,0.05")
    fleet.start()
    workers = [fleet.start(slots=12), fleet.start(slots=12)]
    batch = fleet.submit(mixed(300))
    for part in range(1, 6):
        fleet.wait_for_ended(batch, part * 40)
        workers.pop(dice.randrange(2)).kill()
        workers.append(fleet.start(slots=12, wait=False))
    assert fleet.finish(batch, 60) == {"succeeded": 300}
    assert_whole(fleet, batch)
    assert_money(fleet)
    assert_nothing_left_in_redis(fleet)


def test_a_dead_workers_work_goes_on_within_the_stated_sum(fleet: Fleet) -> None:
    fleet.practice.control(latency="60")
    victim = fleet.start(slots=8)
    batch = fleet.submit(sums(8))
    fleet.wait("the worker waits for the model in every slot", lambda: fleet.practice.stats()["in_flight"] == 8)
    fleet.practice.control(latency="0")
    fleet.start(slots=8)
    victim.kill()
    limit_s = fleet.settings.takeover_s + SLACK_S
    fleet.wait("its leases are taken over", lambda: len(fleet.rows(LOST)) == 8, limit_s)
    assert fleet.finish(batch) == {"succeeded": 8}
    assert [run.attempts for run in fleet.runs(batch)] == [4] * 8, "two model calls, one tool call, and the lost one"


def test_an_emptied_redis_costs_time_and_nothing_else(fleet: Fleet) -> None:
    fleet.practice.control(latency="uniform:0,0.05")
    fleet.start(slots=12)
    fleet.start(slots=12)
    batch = fleet.submit(mixed(150))
    with redis.Redis.from_url(fleet.redis_url) as client:
        for part in (20, 60, 100):
            fleet.wait_for_ended(batch, part)
            client.flushall()
    assert fleet.finish(batch) == {"succeeded": 150}
    assert_whole(fleet, batch)
    assert_money(fleet)
    assert_nothing_left_in_redis(fleet)
