"""An endpoint that refuses without saying for how long is asked half as often, and then more again."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.limits.fleet import START_S, Fleet
from worker.core.config import EndpointLimits
from worker.limits.limiter import Granted, Limiter, RetryAt, limiter_client

START_MS = int(START_S * 1000)
NO_LIMITS = EndpointLimits()


@pytest.fixture
def limiter(redis_url: str) -> Iterator[Limiter]:
    with limiter_client(redis_url) as client:
        yield Limiter(client, random.Random(5).random)


def test_a_refusal_halves_the_rate_and_it_doubles_each_minute(limiter: Limiter) -> None:
    adaptive = limiter.penalise("endpoint", recent_per_min=240, clock_ms=START_MS)
    assert adaptive.halved
    assert adaptive.requests_per_min == 120
    assert adaptive.lasts_s == pytest.approx(120), "from half to twice the old rate"
    fleet = Fleet(limiter, NO_LIMITS, waiting=100, late_s=0.05, way_s=0.0)
    counts = []
    for _ in range(2):
        before = len(fleet.arrivals)
        fleet.run(60)
        counts.append(len(fleet.arrivals) - before)
    ideal = 173  # the integral of 120 · 2^t over the first minute; slots given at the slower rate lag behind it
    assert 0.7 * ideal <= counts[0] <= ideal
    assert 0.7 * 2 * ideal <= counts[1] <= 2 * ideal


def test_many_refusals_of_one_overload_halve_it_once(limiter: Limiter) -> None:
    limiter.penalise("endpoint", recent_per_min=240, clock_ms=START_MS)
    again = limiter.penalise("endpoint", recent_per_min=240, clock_ms=START_MS + 3_000)
    assert not again.halved
    assert again.requests_per_min == pytest.approx(120, rel=0.1)
    later = limiter.penalise("endpoint", recent_per_min=240, clock_ms=START_MS + 10_000)
    assert later.halved
    assert later.requests_per_min == pytest.approx(68, rel=0.05)
    assert later.lasts_s > again.lasts_s


def test_it_ends_by_itself_and_then_nothing_waits(limiter: Limiter) -> None:
    limiter.penalise("endpoint", recent_per_min=4, clock_ms=START_MS)
    limiter.acquire("endpoint", NO_LIMITS, 0, "a", 0, clock_ms=START_MS)
    assert isinstance(limiter.acquire("endpoint", NO_LIMITS, 0, "b", 0, clock_ms=START_MS), RetryAt)
    limiter._script.registered_client.delete("stepmill:limits:endpoint:adaptive")
    assert isinstance(limiter.acquire("endpoint", NO_LIMITS, 0, "c", 0, clock_ms=START_MS + 90_000), Granted)
    assert isinstance(limiter.acquire("endpoint", NO_LIMITS, 0, "d", 0, clock_ms=START_MS + 90_000), Granted)


def test_without_history_a_careful_rate_is_taken(limiter: Limiter) -> None:
    assert limiter.penalise("endpoint", clock_ms=START_MS).requests_per_min == 60
