"""A storm of random faults over several hundred questions, and a short one for every test run."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.chaos.storm import RUNS_VARIABLE, Storm
from tests.engine.fleet import Fleet
from tests.engine.prices import assert_billed, price
from tests.engine.questions import counted, long_ones, sums
from tests.engine.wholeness import assert_money, assert_nothing_left_in_redis, assert_whole
from tests.faults.proxy import Proxy

STATED = {"poisoned", "internal"}
"""What a run may fail with when its processes are killed and its model fails again and again."""

CALM_S = 240
"""After the storm: an endpoint that refused calls again and again is asked twice as often with each minute."""


@pytest.fixture
def storm(fleet: Fleet, chaos_seed: int) -> Iterator[Storm]:
    price(fleet)
    with ExitStack() as stack:
        to_redis = stack.enter_context(Proxy(fleet.redis_url).serving())
        fleet.redis_url = to_redis.url
        to_database = None
        if fleet.store.postgres:
            to_database = stack.enter_context(Proxy(fleet.database_url).serving())
            fleet.database_url = to_database.url
        yield Storm(fleet, random.Random(chaos_seed), to_redis, to_database)


def questions(count: int) -> list[str]:
    part = count // 4
    naps = [f"Use nap(seconds=0.{n % 5}) then count_up(name='nap-{n}')." for n in range(part)]
    return [*sums(count - 3 * part), *counted(part), *long_ones(part, 6), *naps]


def weather(storm: Storm, count: int, for_s: float) -> None:
    """Lets the storm rage over so many questions, and looks at what is left."""
    fleet = storm.fleet
    fleet.practice.control(latency="uniform:0,0.2")
    storm.begin()
    batch = fleet.submit(questions(count))
    began = time.monotonic()
    storm.rage(lambda: fleet.ended(batch) == count, for_s)
    raged_s, left = time.monotonic() - began, count - fleet.ended(batch)
    states = fleet.finish(batch, CALM_S)
    ended_s = time.monotonic() - began
    failed = [run.error_code for run in fleet.runs(batch) if run.state == "failed"]
    print(f"\n{storm.struck.total()} faults in {raged_s:.0f} s: {dict(storm.struck)}")
    print(f"ended after {ended_s:.0f} s ({left} runs after the storm): {states}, failed with {failed}")
    assert set(states) <= {"succeeded", "failed"} and set(failed) <= STATED
    assert len(failed) <= count // 20, "all but a few go through any weather"
    assert_whole(fleet, batch)
    assert_money(fleet)
    assert_billed(fleet, batch)
    assert_nothing_left_in_redis(fleet)


@pytest.mark.timeout(400)
def test_a_short_storm_leaves_everything_whole(storm: Storm) -> None:
    weather(storm, count=60, for_s=10)
    assert storm.struck.total() >= 3


@pytest.mark.chaos
@pytest.mark.timeout(900)
def test_a_long_storm_leaves_everything_whole(storm: Storm) -> None:
    weather(storm, count=int(os.environ.get(RUNS_VARIABLE, "300")), for_s=60)
    assert storm.struck.total() >= 10
