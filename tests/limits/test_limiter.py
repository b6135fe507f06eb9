"""The shared limits on a real Redis: never more than allowed in any minute, nearly all of it used, nothing leaked."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import redis

from tests.limits.fleet import START_S, Fleet, most_at_once, most_in_a_minute
from tests.services.redis import RedisServer
from worker.core.config import EndpointLimits
from worker.limits.limiter import PREFIX, Granted, Limiter, RetryAt, limiter_client

START_MS = int(START_S * 1000)


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    with limiter_client(redis_url) as client:
        yield client


@pytest.fixture
def limiter(client: redis.Redis) -> Limiter:
    return Limiter(client, random.Random(5).random)


def warm(limiter: Limiter, key: str = "endpoint") -> None:
    """Sets the limiter going more than a minute before START_S, as any running system has."""
    granted = limiter.acquire(key, EndpointLimits(concurrent=1000), 0, "warm", 0, clock_ms=START_MS - 100_000)
    if isinstance(granted, Granted):
        limiter.settle(key, granted, 0, clock_ms=START_MS - 100_000)


@pytest.mark.parametrize("per_min", [10, 60, 240])
@pytest.mark.parametrize("late_s", [0.1, 3.0])
def test_no_minute_sees_more_requests_than_the_limit_and_nine_tenths_are_used(
    limiter: Limiter, per_min: int, late_s: float
) -> None:
    fleet = Fleet(limiter, EndpointLimits(requests_per_min=per_min), waiting=60, late_s=late_s)
    fleet.run(60)
    before = len(fleet.arrivals)
    fleet.run(300)
    requests, _ = most_in_a_minute(fleet.arrivals)
    assert requests <= per_min
    assert (len(fleet.arrivals) - before) / 5 >= 0.9 * per_min


def test_no_minute_sees_more_tokens_than_the_limit_and_nine_tenths_are_used(limiter: Limiter) -> None:
    fleet = Fleet(
        limiter,
        EndpointLimits(tokens_per_min=100_000),
        waiting=60,
        reserve_tokens=1_000,
        use_tokens=lambda dice: dice.randint(500, 1_000),
    )
    fleet.run(120)
    before = sum(used for _, used in fleet.arrivals)
    fleet.run(300)
    _, tokens = most_in_a_minute(fleet.arrivals)
    assert tokens <= 100_000
    assert (sum(used for _, used in fleet.arrivals) - before) / 5 >= 0.9 * 100_000


def test_calls_that_may_use_seven_times_what_they_do_still_use_nine_tenths(limiter: Limiter) -> None:
    fleet = Fleet(
        limiter,
        EndpointLimits(tokens_per_min=200_000),
        waiting=100,
        latency_s=10.0,
        reserve_tokens=5_500,
        use_tokens=lambda dice: dice.randint(500, 900),
    )
    fleet.run(180)
    before = sum(used for _, used in fleet.arrivals)
    fleet.run(300)
    _, tokens = most_in_a_minute(fleet.arrivals)
    assert tokens <= 200_000
    assert (sum(used for _, used in fleet.arrivals) - before) / 5 >= 0.9 * 200_000


def test_never_more_calls_at_once_than_allowed_and_nine_tenths_are_in_use(limiter: Limiter) -> None:
    fleet = Fleet(limiter, EndpointLimits(concurrent=10), waiting=60, late_s=0.2)
    fleet.run(300)
    assert most_at_once(fleet.in_flight) <= 10
    begin_s, end_s = START_S + 60, START_S + 300
    busy_s = sum(max(0.0, min(end, end_s) - max(start, begin_s)) for start, end in fleet.in_flight)
    assert busy_s / (end_s - begin_s) >= 9


def test_all_limits_hold_together(limiter: Limiter) -> None:
    limits = EndpointLimits(requests_per_min=120, tokens_per_min=50_000, concurrent=5)
    fleet = Fleet(limiter, limits, waiting=40, reserve_tokens=800, use_tokens=lambda dice: dice.randint(1, 800))
    fleet.run(300)
    requests, tokens = most_in_a_minute(fleet.arrivals)
    assert requests <= 120
    assert tokens <= 50_000
    assert most_at_once(fleet.in_flight) <= 5
    assert len(fleet.arrivals) > 300


@pytest.mark.parametrize("limits", [EndpointLimits(requests_per_min=60), EndpointLimits(concurrent=8)])
def test_an_emptied_redis_bursts_nothing(limiter: Limiter, client: redis.Redis, limits: EndpointLimits) -> None:
    warm(limiter)
    fleet = Fleet(limiter, limits, waiting=60, latency_s=10.0)
    for _ in range(4):
        fleet.run(47)
        client.flushall()
    fleet.run(100)
    requests, _ = most_in_a_minute(fleet.arrivals)
    assert requests <= (limits.requests_per_min or 10_000)
    assert most_at_once(fleet.in_flight) <= (limits.concurrent or 10_000)
    assert fleet.arrivals[-1][0] > START_S + 280, "it goes on afterwards"


def test_a_killed_worker_leaks_no_slot(limiter: Limiter) -> None:
    warm(limiter)
    limits = EndpointLimits(concurrent=1)
    granted = limiter.acquire("endpoint", limits, 0, "killed", 0, hold_s=30, clock_ms=START_MS)
    assert isinstance(granted, Granted)
    assert isinstance(limiter.acquire("endpoint", limits, 0, "next", 0, clock_ms=START_MS + 29_000), RetryAt)
    assert isinstance(limiter.acquire("endpoint", limits, 0, "next", 0, clock_ms=START_MS + 31_000), Granted)


def test_a_place_is_kept_for_who_asks_again(limiter: Limiter) -> None:
    warm(limiter)
    limits = EndpointLimits(requests_per_min=6)
    assert isinstance(limiter.acquire("endpoint", limits, 0, "a", 100.0, clock_ms=START_MS), Granted)
    first = limiter.acquire("endpoint", limits, 0, "b", 100.0, clock_ms=START_MS)
    again = limiter.acquire("endpoint", limits, 0, "b", 105.0, clock_ms=START_MS + 5_000)
    assert isinstance(first, RetryAt)
    assert isinstance(again, RetryAt)
    assert first.due_s == pytest.approx(again.due_s, abs=0.01)
    assert 110 < first.due_s < 111


def test_slots_are_given_only_a_short_way_ahead_so_that_cancelled_runs_waste_little(limiter: Limiter) -> None:
    warm(limiter)
    answers = [
        limiter.acquire("endpoint", EndpointLimits(requests_per_min=60), 0, f"run-{n}", 0.0, clock_ms=START_MS)
        for n in range(500)
    ]
    dues = [answer.due_s for answer in answers if isinstance(answer, RetryAt)]
    assert len(dues) == 499
    assert max(dues) <= 31
    late = limiter.acquire("endpoint", EndpointLimits(requests_per_min=60), 0, "later", 0.0, clock_ms=START_MS + 40_000)
    assert isinstance(late, Granted), "forty seconds later nothing of the cancelled five hundred is in the way"


def test_other_models_go_on_at_full_speed(limiter: Limiter) -> None:
    warm(limiter, "slow")
    warm(limiter, "fast")
    limits = EndpointLimits(requests_per_min=1)
    limiter.acquire("slow", limits, 0, "a", 0, clock_ms=START_MS)
    assert isinstance(limiter.acquire("slow", limits, 0, "b", 0, clock_ms=START_MS), RetryAt)
    assert isinstance(limiter.acquire("fast", limits, 0, "b", 0, clock_ms=START_MS), Granted)


def test_a_call_larger_than_the_whole_limit_goes_when_nothing_else_is_used(limiter: Limiter) -> None:
    warm(limiter)
    limits = EndpointLimits(tokens_per_min=1_000)
    huge = limiter.acquire("endpoint", limits, 50_000, "huge", 0, clock_ms=START_MS)
    assert isinstance(huge, Granted)
    assert huge.tokens == 1_000
    assert isinstance(limiter.acquire("endpoint", limits, 10, "small", 0, clock_ms=START_MS + 1_000), RetryAt)


def test_what_a_call_did_not_use_is_there_for_others_and_unknown_use_keeps_its_reservation(limiter: Limiter) -> None:
    warm(limiter)
    limits = EndpointLimits(tokens_per_min=1_000)
    first = limiter.acquire("endpoint", limits, 900, "first", 0, clock_ms=START_MS)
    assert isinstance(first, Granted)
    limiter.settle("endpoint", first, 100, clock_ms=START_MS + 1_000)
    second = limiter.acquire("endpoint", limits, 800, "second", 0, clock_ms=START_MS + 25_000)
    assert isinstance(second, Granted), "100 and 800 fit"
    limiter.settle("endpoint", second, None, clock_ms=START_MS + 26_000)
    assert isinstance(limiter.acquire("endpoint", limits, 300, "third", 0, clock_ms=START_MS + 50_000), RetryAt)


def test_every_key_expires(limiter: Limiter, client: redis.Redis) -> None:
    limits = EndpointLimits(requests_per_min=60, tokens_per_min=1_000, concurrent=2)
    for n in range(5):
        limiter.acquire("endpoint", limits, 10, f"run-{n}", 0)
    limiter.penalise("endpoint")
    keys = client.keys(f"{PREFIX}:*")
    assert isinstance(keys, list)
    assert len(keys) >= 3
    assert all(client.pttl(key) > 0 for key in keys)


def test_redis_counts_on_its_own_clock_and_answers_on_the_callers(limiter: Limiter) -> None:
    limits = EndpointLimits(requests_per_min=6)
    answers = [limiter.acquire("endpoint", limits, 0, f"run-{n}", 5_000.0) for n in range(2)]
    dues = [answer.due_s for answer in answers if isinstance(answer, RetryAt)]
    assert len(dues) == 2, "a Redis without memory starts with nothing to give"
    assert 5_010 < dues[0] < dues[1] < 5_030


def test_a_redis_that_is_away_is_told_at_once_and_never_asked_twice(redis_server: RedisServer) -> None:
    with limiter_client(redis_server.url) as client:
        limiter = Limiter(client)
        redis_server.stop()
        try:
            with pytest.raises(redis.ConnectionError):
                limiter.acquire("endpoint", EndpointLimits(concurrent=1), 0, "a", 0)
        finally:
            redis_server.start()
