"""Fleet-wide limits on three real workers: never exceeded, nearly used up, and other runs continue meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.fleet import Fleet
from tests.engine.questions import long_ones
from worker.store.control.stopping import pause_batch

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]

REQUESTS_A_MIN = 240
TOKENS_A_MIN = 200_000
WARM_UP_S, MINUTE_S, SETTLING_S, ALONE_S = 10.0, 60.0, 3.0, 8.0

Calls = list[tuple[float, int]]
"""When each call came to the practice model, and what it weighs."""


def one_each(entry: dict[str, Any]) -> int:
    return 1


def tokens(entry: dict[str, Any]) -> int:
    return int(entry["prompt_tokens"] + entry["completion_tokens"])


def calls(fleet: Fleet, model: str, weigh: Callable[[dict[str, Any]], int] = one_each) -> Calls:
    return sorted((e["started_mono_s"], weigh(e)) for e in fleet.practice.ledger() if e["model"] == model)


def between(found: Calls, since_s: float, until_s: float) -> int:
    return sum(weight for at_s, weight in found if since_s <= at_s < until_s)


def most_in_a_minute(found: Calls) -> int:
    return max(between(found, at_s, at_s + MINUTE_S) for at_s, _ in found)


def pass_time(fleet: Fleet, seconds: float) -> None:
    since = time.monotonic()
    fleet.wait("time has passed", lambda: time.monotonic() - since >= seconds, seconds + 5)


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_three_workers_never_pass_a_limit_use_nine_tenths_of_it_and_leave_other_models_at_full_speed(
    fleet: Fleet,
) -> None:
    fleet.practice.control(latency="1.0")
    for _ in range(3):
        fleet.start(slots=8)
    limited = [
        fleet.submit(long_ones(200, 10), model="by-requests", limits={"requests_per_min": REQUESTS_A_MIN}),
        fleet.submit(long_ones(200, 10), model="by-tokens", limits={"tokens_per_min": TOKENS_A_MIN}),
    ]
    fleet.submit(long_ones(400, 10), model="free")
    fleet.wait("the limited models are asked", lambda: all(calls(fleet, one) for one in ("by-requests", "by-tokens")))
    pass_time(fleet, WARM_UP_S + MINUTE_S)
    ended_at = time.monotonic()
    for batch in limited:
        pause_batch(fleet.store, batch)
    pass_time(fleet, SETTLING_S + ALONE_S)

    requests, used, free = calls(fleet, "by-requests"), calls(fleet, "by-tokens", tokens), calls(fleet, "free")
    minute = (ended_at - MINUTE_S, ended_at)
    shares = between(requests, *minute) / REQUESTS_A_MIN, between(used, *minute) / TOKENS_A_MIN
    beside = between(free, *minute) / MINUTE_S
    together = beside + (between(requests, *minute) + between(calls(fleet, "by-tokens"), *minute)) / MINUTE_S
    alone = between(free, ended_at + SETTLING_S, ended_at + SETTLING_S + ALONE_S) / ALONE_S
    print(f"\nmost in a minute: {most_in_a_minute(requests)} requests, {most_in_a_minute(used)} tokens")
    print(f"used: {shares[0]:.1%} of the requests, {shares[1]:.1%} of the tokens")
    print(f"calls a second: {beside:.1f} of the free model, {together:.1f} of all; {alone:.1f} of the free one alone")
    assert most_in_a_minute(requests) <= REQUESTS_A_MIN
    assert most_in_a_minute(used) <= TOKENS_A_MIN
    assert min(shares) >= 0.9
    assert together >= 0.9 * alone, "whoever waits for a limit takes nothing from others"
