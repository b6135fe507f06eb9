"""Rate limits as a provider enforces them, and the most ever seen in a window, so that tests can check a limiter."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


class Window:
    """A sliding window of `window_s` seconds over weighted events."""

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._events: deque[tuple[float, int]] = deque()
        self._sum = 0
        self.most = 0

    def sum_at(self, now_s: float) -> int:
        while self._events and self._events[0][0] <= now_s - self._window_s:
            self._sum -= self._events.popleft()[1]
        return self._sum

    def add(self, now_s: float, weight: int = 1) -> None:
        self.sum_at(now_s)
        self._events.append((now_s, weight))
        self._sum += weight
        self.most = max(self.most, self._sum)

    def free_in_s(self, now_s: float) -> float:
        """Returns the seconds until the oldest event leaves the window."""
        return max(0.0, self._events[0][0] + self._window_s - now_s) if self._events else 0.0


@dataclass(frozen=True, slots=True)
class PracticeLimits:
    """Limits of one model; None means no limit. A minute lasts `window_s` seconds, so that tests can be fast."""

    rpm: int | None = None
    tpm: int | None = None
    concurrency: int | None = None
    window_s: float = 60.0


class Gate:
    """Enforces the limits of one model. Counts all arrivals, also refused ones, separately from admitted ones."""

    def __init__(self, limits: PracticeLimits) -> None:
        self.limits = limits
        self.arrived = Window(limits.window_s)
        self.admitted = Window(limits.window_s)
        self.tokens = Window(limits.window_s)
        self.refused = 0
        self.in_flight = 0
        self.in_flight_most = 0

    def enter(self, now_s: float, tokens: int) -> float | None:
        """Returns None if admitted; `leave` must follow. Otherwise the seconds after which to try again."""
        self.arrived.add(now_s)
        wait_s = self._refusal(now_s, tokens)
        if wait_s is not None:
            self.refused += 1
            return wait_s
        self.admitted.add(now_s)
        self.tokens.add(now_s, tokens)
        self.in_flight += 1
        self.in_flight_most = max(self.in_flight_most, self.in_flight)
        return None

    def leave(self) -> None:
        self.in_flight -= 1

    def _refusal(self, now_s: float, tokens: int) -> float | None:
        limits = self.limits
        if limits.concurrency is not None and self.in_flight >= limits.concurrency:
            return 0.1
        if limits.rpm is not None and self.admitted.sum_at(now_s) >= limits.rpm:
            return self.admitted.free_in_s(now_s)
        if limits.tpm is not None and self.tokens.sum_at(now_s) + tokens > limits.tpm:
            return self.tokens.free_in_s(now_s)
        return None

    def as_json(self) -> dict[str, int]:
        return {
            "arrived_most_in_window": self.arrived.most,
            "admitted_most_in_window": self.admitted.most,
            "tokens_most_in_window": self.tokens.most,
            "refused": self.refused,
            "in_flight": self.in_flight,
            "in_flight_most": self.in_flight_most,
        }
