"""A fleet of workers on a stepped clock that asks the real limiter, and the endpoint that sees what it sends."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from worker.core.config import EndpointLimits
from worker.limits.limiter import Granted, Limiter

START_S = 1_000_000.0


@dataclass
class Fleet:
    """Always has `waiting` calls that want to go.

    They come up to `late_s` after their due time and reach the endpoint up to `way_s` after their grant.
    """

    limiter: Limiter
    limits: EndpointLimits
    waiting: int
    latency_s: float = 2.0
    late_s: float = 0.5
    way_s: float = 1.0
    reserve_tokens: int = 0
    use_tokens: Callable[[random.Random], int] = lambda dice: 0
    key: str = "endpoint"
    arrivals: list[tuple[float, int]] = field(default_factory=list)
    in_flight: list[tuple[float, float]] = field(default_factory=list)
    asked: int = 0

    def __post_init__(self) -> None:
        self.dice = random.Random(11)
        self._serial = 0
        self._events: list[tuple[float, int, str, Granted | None, int]] = []
        self.now_s = START_S
        for _ in range(self.waiting):
            self._want(START_S)

    def run(self, seconds: float) -> None:
        end_s = self.now_s + seconds
        while self._events and self._events[0][0] <= end_s:
            self.now_s, _, token_id, granted, used = heapq.heappop(self._events)
            if granted is not None:
                self.limiter.settle(self.key, granted, used, int(self.now_s * 1000))
                self._want(self.now_s)
            else:
                self._ask(token_id)
        self.now_s = end_s

    def _want(self, at_s: float) -> None:
        self._serial += 1
        self._push(at_s, f"call-{self._serial}")

    def _push(self, at_s: float, token_id: str, granted: Granted | None = None, used: int = 0) -> None:
        self._serial += 1
        heapq.heappush(self._events, (at_s, self._serial, token_id, granted, used))

    def _ask(self, token_id: str) -> None:
        self.asked += 1
        clock_ms = int(self.now_s * 1000)
        answer = self.limiter.acquire(
            self.key, self.limits, self.reserve_tokens, token_id, self.now_s, clock_ms=clock_ms
        )
        if not isinstance(answer, Granted):
            assert answer.due_s >= self.now_s, "a slot is never in the past"
            self._push(answer.due_s + self.dice.uniform(0, self.late_s), token_id)
            return
        used = self.use_tokens(self.dice)
        arrives_s = self.now_s + self.dice.uniform(0, self.way_s)
        ends_s = arrives_s + self.dice.uniform(0.5, 1.5) * self.latency_s
        self.arrivals.append((arrives_s, used))
        self.in_flight.append((self.now_s, ends_s))
        self._push(ends_s, token_id, answer, used)


def most_in_a_minute(arrivals: list[tuple[float, int]]) -> tuple[int, int]:
    """The most requests, and the most tokens, that any 60 seconds saw."""
    ordered = sorted(arrivals)
    first = requests = tokens = sum_tokens = 0
    for index, (at_s, used) in enumerate(ordered):
        sum_tokens += used
        while ordered[first][0] <= at_s - 60:
            sum_tokens -= ordered[first][1]
            first += 1
        requests, tokens = max(requests, index - first + 1), max(tokens, sum_tokens)
    return requests, tokens


def most_at_once(in_flight: list[tuple[float, float]]) -> int:
    edges = sorted([(start, 1) for start, _ in in_flight] + [(end, -1) for _, end in in_flight])
    now = most = 0
    for _, change in edges:
        now += change
        most = max(most, now)
    return most
