"""When failed work is tried again, and how often. Pure: the caller brings the dice and keeps the count."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from worker.core.errors import (
    BadReply,
    BrokenOff,
    CallEnded,
    ConnectionLost,
    EndpointBusy,
    EndpointFailed,
    ErrorCode,
    ModelTimeout,
    OperatorError,
    RateLimited,
    TransientError,
    UnknownError,
    Unreachable,
)

BASE_S = 1.0
CAP_S = 60.0
SPREAD = 0.1
"""Waits that the provider asked for grow by up to this share, so that the fleet does not come back all at once."""
LEAST_SPREAD_S = 0.5

# Failures of one step after which it is not simply repeated; None: only the run's own time limit ends the trying, since
# an attempt that was turned away costs nothing. The others may have cost tokens each time.
MAX_FAILURES: dict[type[TransientError], int | None] = {
    RateLimited: None,
    EndpointBusy: None,
    Unreachable: 3,
    EndpointFailed: 8,
    ConnectionLost: 8,
    BrokenOff: 8,
    UnknownError: 3,
    BadReply: 4,
    ModelTimeout: 4,
}


PAUSE_AFTER: dict[type[TransientError], int] = {ModelTimeout: 2}
"""Failures in a row of one step after which an endpoint that answers nobody meanwhile is left alone."""
PAUSE_AFTER_ANY = 3


class Verdict(StrEnum):
    """What follows a model call that failed for a reason that may pass."""

    AGAIN = "again"
    PAUSE = "pause"
    """The endpoint answers nobody: it is left alone until a probe succeeds, and no run fails."""
    GIVE_UP = "give_up"
    """The endpoint answers others: it is this request that it cannot answer, and the run ends."""


class Dice(Protocol):
    """`random.Random` fits it."""

    def uniform(self, a: float, b: float) -> float: ...


def tries_left(error: TransientError, failures: int, most_of_run: int) -> bool:
    """Whether a step is simply tried again after so many failures, this one included."""
    most = MAX_FAILURES.get(type(error), MAX_FAILURES[EndpointFailed])
    return most is None or failures < min(most, most_of_run)


def may_be_down(error: TransientError, failures: int) -> bool:
    """Whether so many failures of one step, this one included, suggest that the endpoint answers nobody."""
    if MAX_FAILURES.get(type(error), PAUSE_AFTER_ANY) is None:
        return False
    return failures >= PAUSE_AFTER.get(type(error), PAUSE_AFTER_ANY)


def refusal_verdict(failures: int, most_of_run: int, answers_others: bool) -> Verdict:
    """What follows from an error that is the operator's unless it strikes one request alone. `answers_others`: lately,
    or since this step first failed where `failures`, this one included, are as many as one request is given."""
    if not answers_others:
        return Verdict.PAUSE
    return Verdict.AGAIN if refusals_left(failures, most_of_run) else Verdict.GIVE_UP


def refusals_left(failures: int, most_of_run: int) -> bool:
    """Whether a request that may be refused alone is tried again after so many failures."""
    return failures < min(PAUSE_AFTER_ANY, most_of_run)


def verdict(error: TransientError, failures: int, most_of_run: int, answers_others: bool) -> Verdict:
    """What follows. `answers_others`: the endpoint and model have answered somebody since this step first failed."""
    if tries_left(error, failures, most_of_run) and (answers_others or not may_be_down(error, failures)):
        return Verdict.AGAIN
    if not answers_others:
        return Verdict.PAUSE
    # Nothing was asked of an endpoint that could not be reached from here: the run is not at fault.
    return Verdict.AGAIN if isinstance(error, Unreachable) else Verdict.GIVE_UP


def may_be_too_long(error: TransientError, step: int, folds: int) -> bool:
    """Whether a refusal in words that nobody knows may mean a conversation that is too long: then it is folded once."""
    return isinstance(error, UnknownError) and error.status in _OF_LENGTH and step > 1 and folds == 0


_OF_LENGTH = (400, 413, 422, 500)
"""What endpoints answer where the conversation does not fit."""


def code_of(error: CallEnded) -> ErrorCode:
    """How a run ends that is given up for this error."""
    refused = isinstance(error, UnknownError | OperatorError) and error.status is not None and 400 <= error.status < 500
    return ErrorCode.MODEL_REJECTED if refused else ErrorCode.INTERNAL


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
