"""When and how often failed work is retried. Pure: the caller supplies the randomness and the counts."""

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
"""Waits that the provider asked for are extended by up to this share, so that the fleet does not return all at once."""
LEAST_SPREAD_S = 0.5

# Failures of one step after which it is not simply repeated. None: only the run's time limit ends the retries, because
# a refused attempt costs nothing; the others may cost tokens each time.
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
"""Consecutive failures of one step after which an endpoint that answers no other run is paused."""
PAUSE_AFTER_ANY = 3


class Verdict(StrEnum):
    """What follows a model call that failed for a temporary reason."""

    AGAIN = "again"
    PAUSE = "pause"
    """The endpoint answers no run: it is paused until a probe succeeds, and no run fails."""
    GIVE_UP = "give_up"
    """The endpoint answers others but not this request: the run ends."""


class Dice(Protocol):
    """A source of randomness, such as `random.Random`."""

    def uniform(self, a: float, b: float) -> float: ...


def tries_left(error: TransientError, failures: int, most_of_run: int) -> bool:
    """Returns whether a step is simply retried after this many failures, the current one included."""
    most = MAX_FAILURES.get(type(error), MAX_FAILURES[EndpointFailed])
    return most is None or failures < min(most, most_of_run)


def may_be_down(error: TransientError, failures: int) -> bool:
    """Returns whether this many failures of one step, the current one included, suggest that the endpoint is down."""
    if MAX_FAILURES.get(type(error), PAUSE_AFTER_ANY) is None:
        return False
    return failures >= PAUSE_AFTER.get(type(error), PAUSE_AFTER_ANY)


def refusal_verdict(failures: int, most_of_run: int, answers_others: bool) -> Verdict:
    """Returns what follows an error that is the operator's unless only one request gets it. `answers_others`: recently,
    or, once `failures` (the current one included) reaches the limit of one request, since this step first failed."""
    if not answers_others:
        return Verdict.PAUSE
    return Verdict.AGAIN if refusals_left(failures, most_of_run) else Verdict.GIVE_UP


def refusals_left(failures: int, most_of_run: int) -> bool:
    """Returns whether a request that may itself be the cause is retried after this many failures."""
    return failures < min(PAUSE_AFTER_ANY, most_of_run)


def verdict(error: TransientError, failures: int, most_of_run: int, answers_others: bool) -> Verdict:
    """Returns what follows. `answers_others`: the endpoint has answered another run since this step first failed."""
    if tries_left(error, failures, most_of_run) and (answers_others or not may_be_down(error, failures)):
        return Verdict.AGAIN
    if not answers_others:
        return Verdict.PAUSE
    # An endpoint that could not be reached never saw the request, so the run is not at fault.
    return Verdict.AGAIN if isinstance(error, Unreachable) else Verdict.GIVE_UP


def may_be_too_long(error: TransientError, step: int, folds: int) -> bool:
    """Returns whether an unrecognised refusal may mean that the conversation is too long; it is then folded once."""
    return isinstance(error, UnknownError) and error.status in _OF_LENGTH and step > 1 and folds == 0


_OF_LENGTH = (400, 413, 422, 500)
"""Statuses that endpoints return if the conversation does not fit."""


def code_of(error: CallEnded) -> ErrorCode:
    """Returns the code of a run that ends because of this error."""
    refused = isinstance(error, UnknownError | OperatorError) and error.status is not None and 400 <= error.status < 500
    return ErrorCode.MODEL_REJECTED if refused else ErrorCode.INTERNAL


def delay_s(
    failures: int, dice: Dice, base_s: float = BASE_S, cap_s: float = CAP_S, retry_after_s: float | None = None
) -> float:
    """Returns the seconds to wait after `failures` (from 1) in a row: random, up to a bound that doubles to `cap_s`.

    With `retry_after_s`, returns that plus a small random part, without a cap.
    """
    if failures < 1:
        raise ValueError(f"failures is {failures}: a delay follows at least one")
    bound_s = min(cap_s, base_s * 2.0 ** min(failures - 1, 60))
    if retry_after_s is None:
        return dice.uniform(0.0, bound_s)
    return retry_after_s + dice.uniform(0.0, max(LEAST_SPREAD_S, SPREAD * retry_after_s))
