"""When failed work is tried again, and how often. Pure: the caller brings the dice and keeps the count."""

from __future__ import annotations

from typing import Protocol

from worker.core.errors import (
    BadReply,
    ConnectionLost,
    EndpointBusy,
    EndpointFailed,
    ModelTimeout,
    RateLimited,
    TransientError,
    Unreachable,
)

BASE_S = 1.0
CAP_S = 60.0
SPREAD = 0.1
"""Waits that the provider asked for grow by up to this share, so that the fleet does not come back all at once."""
LEAST_SPREAD_S = 0.5

# Failures of one step after which it is given up; None: only the run's own time limit ends the trying, since an attempt
# that was turned away costs nothing. The others may have cost tokens each time.
MAX_FAILURES: dict[type[TransientError], int | None] = {
    RateLimited: None,
    EndpointBusy: None,
    Unreachable: None,
    EndpointFailed: 8,
    ConnectionLost: 8,
    BadReply: 4,
    ModelTimeout: 4,
}


class Dice(Protocol):
    """`random.Random` fits it."""

    def uniform(self, a: float, b: float) -> float: ...


def may_retry(error: TransientError, failures: int) -> bool:
    """Whether a step may be tried again after so many failures, this one included."""
    most = MAX_FAILURES.get(type(error), MAX_FAILURES[EndpointFailed])
    return most is None or failures < most


def delay_s(
    failures: int, dice: Dice, base_s: float = BASE_S, cap_s: float = CAP_S, retry_after_s: float | None = None
) -> float:
    """Seconds to wait after `failures` (from 1) in a row: anywhere up to a bound that doubles each time until `cap_s`.

    With `retry_after_s` never less than that, however long it is, and a little more.
    """
    if failures < 1:
        raise ValueError(f"failures is {failures}: a delay follows at least one")
    bound_s = min(cap_s, base_s * 2.0 ** min(failures - 1, 60))
    if retry_after_s is None:
        return dice.uniform(0.0, bound_s)
    return retry_after_s + dice.uniform(0.0, max(LEAST_SPREAD_S, SPREAD * retry_after_s))
