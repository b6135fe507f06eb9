"""Limits of one endpoint shared by the fleet in Redis: requests and tokens per minute, and concurrent calls.

The limiter never blocks: a call that may not start now gets a time to ask again. Callers ask only if a limit is
configured or an adaptive limit is in force; otherwise nothing is sent to Redis.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from worker.core.config import EndpointLimits

HOLD_S = 900.0
CALM_S = 5.0
FORGET_S = 3600.0
SOCKET_TIMEOUT_S = 2.0
NO_HISTORY_PER_MIN = 120.0
_SCRIPT = Path(__file__).with_name("limiter.lua").read_text(encoding="utf-8")
"""The Lua script; each call of it is one atomic step in Redis."""

PREFIX = "stepmill:limits"


@dataclass(frozen=True, slots=True)
class Granted:
    """The call may start now. Pass this to `settle` when the call has ended."""

    token_id: str
    tokens: int
    """The most tokens that the call may use."""
    booked: int
    """Tokens counted for the call until it has ended."""
    second: int
    granted_ms: int


@dataclass(frozen=True, slots=True)
class RetryAt:
    """The call may not start yet: ask again at `due_s`, on the caller's clock, with the same token id."""

    due_s: float


@dataclass(frozen=True, slots=True)
class Adaptive:
    """The adaptive limit after a refusal; it doubles each minute and ends after `lasts_s` seconds."""

    requests_per_min: float
    lasts_s: float
    halved: bool


def limiter_client(url: str) -> redis.Redis:
    """Returns a client that never repeats a command by itself, so that a grant is not counted twice."""
    return redis.Redis.from_url(
        url, retry=Retry(NoBackoff(), 0), socket_timeout=SOCKET_TIMEOUT_S, socket_connect_timeout=SOCKET_TIMEOUT_S
    )


class Limiter:
    """The shared limiter. Thread-safe; one round trip per call. Raises Redis errors, on which the caller must wait."""

    def __init__(self, client: redis.Redis, dice: Callable[[], float] = random.random) -> None:
        self._script = client.register_script(_SCRIPT)
        self._dice = dice
        self._mark = b""
        self._mark_seen_at = -FORGET_S

    def acquire(
        self,
        key: str,
        limits: EndpointLimits,
        tokens: int,
        token_id: str,
        now_s: float,
        *,
        hold_s: float = HOLD_S,
        clock_ms: int | None = None,
    ) -> Granted | RetryAt:
        """Asks to start a call of up to `tokens` tokens at the endpoint named by `key`.

        `token_id` names the place in the queue; asking again with it keeps that place. `now_s` is on the clock of the
        returned `due_s`; Redis uses its own clock (`clock_ms` is for tests). A concurrent slot that is never settled
        is freed after `hold_s` seconds. A call of more tokens than the limit per minute starts when none are in use.
        """
        figures = (limits.requests_per_min or 0, limits.tokens_per_min or 0, limits.concurrent or 0)
        arguments = (tokens, *figures, int(hold_s * 1000), self._dice(), self._known_mark())
        granted, wait_ms, second, at_ms, mark, *booked = self._run("acquire", key, token_id, clock_ms, *arguments)
        self._mark, self._mark_seen_at = mark, time.monotonic()
        if granted:
            return Granted(token_id, min(tokens, limits.tokens_per_min or 0), booked[0], second, at_ms)
        return RetryAt(now_s + wait_ms / 1000)

    def settle(self, key: str, granted: Granted, used_tokens: int | None, clock_ms: int | None = None) -> None:
        """Frees the slot of an ended call and counts what it used; None (unknown) keeps the reserved tokens counted."""
        used = -1 if used_tokens is None else used_tokens
        arguments = (granted.second, granted.booked, used, granted.granted_ms, granted.tokens)
        self._run("settle", key, granted.token_id, clock_ms, *arguments)

    def penalise(self, key: str, recent_per_min: float | None = None, clock_ms: int | None = None) -> Adaptive:
        """Halves the fleet's adaptive rate after the endpoint refused a call without saying for how long.

        `recent_per_min` is the fleet's recent rate, if known. While the adaptive limit lasts, every call must ask
        `acquire`, with or without configured limits. Refusals within `CALM_S` of a halving change nothing.
        """
        recent = NO_HISTORY_PER_MIN if recent_per_min is None else recent_per_min
        halved, lasts_ms, cap, *_ = self._run("penalise", key, "", clock_ms, recent, int(CALM_S * 1000))
        return Adaptive(float(cap), lasts_ms / 1000, bool(halved))

    def _known_mark(self) -> Any:
        """Returns the mark of the Redis on which this process may have calls in flight; empty after long idling."""
        return self._mark if time.monotonic() - self._mark_seen_at < FORGET_S else b""

    def _run(self, op: str, key: str, token_id: str, clock_ms: int | None, *arguments: Any) -> list[Any]:
        keys = [f"{PREFIX}:{key}:{part}" for part in ("state", "queue", "held", "adaptive")] + [f"{PREFIX}:started"]
        now_ms = -1 if clock_ms is None else clock_ms
        return cast("list[Any]", self._script(keys=keys, args=[op, now_ms, token_id, *arguments]))
