"""Kinds of endpoint pauses, and a sentence for each that says what a person must do. Pure."""

from __future__ import annotations

from enum import StrEnum

from worker.core.errors import (
    AccessDenied,
    CallEnded,
    EndpointBusy,
    OperatorError,
    QuotaExhausted,
    RateLimited,
    UnknownError,
    UnknownModel,
    Unreachable,
    WrongKey,
)


class PauseKind(StrEnum):
    """Why an endpoint is paused."""

    BY_HAND = "by_hand"
    KEY = "key"
    ACCESS = "access"
    MODEL = "model"
    QUOTA = "quota"
    LIMITED = "limited"
    UNREACHABLE = "unreachable"
    FAILING = "failing"
    """It answers no request; the failure is expected to be temporary."""
    UNKNOWN = "unknown"
    """It answers every request with an unrecognised error."""


_KINDS: tuple[tuple[type[CallEnded], PauseKind], ...] = (
    (WrongKey, PauseKind.KEY),
    (AccessDenied, PauseKind.ACCESS),
    (UnknownModel, PauseKind.MODEL),
    (QuotaExhausted, PauseKind.QUOTA),
    (RateLimited, PauseKind.LIMITED),
    (EndpointBusy, PauseKind.LIMITED),
    (Unreachable, PauseKind.UNREACHABLE),
    (UnknownError, PauseKind.UNKNOWN),
    (OperatorError, PauseKind.UNKNOWN),
)

OPERATORS = frozenset({PauseKind.KEY, PauseKind.ACCESS, PauseKind.MODEL, PauseKind.QUOTA})
"""Pauses for which an operator must act, even if the provider names a time at which they may end."""

OPENED_BY_ANY_ANSWER = frozenset({PauseKind.UNREACHABLE, PauseKind.FAILING, PauseKind.UNKNOWN})
"""Pauses of endpoints that answered no request: any answer shows that the endpoint works again."""


def pause_kind(error: CallEnded, for_s: float | None = None) -> PauseKind:
    """Returns the kind of a pause for this error. `for_s` is its length in seconds; None: without an end."""
    found = next((kind for cls, kind in _KINDS if isinstance(error, cls)), PauseKind.FAILING)
    return PauseKind.FAILING if found is PauseKind.LIMITED and for_s is None else found


def remedy(kind: str | None, model: str, base_url: str, api_key_env: str | None) -> str:
    """Returns what a person must do about a pause. None or an unknown kind comes from another version."""
    key = api_key_env or "OPENAI_API_KEY"
    known = {
        PauseKind.BY_HAND: f"`stepmill models resume {model}` lets it be called again.",
        PauseKind.KEY: f"Put a valid key for {base_url} into {key}; it is read again without a restart.",
        PauseKind.ACCESS: f"Give the key in {key} the right to use {model} at {base_url}, or name another model.",
        PauseKind.MODEL: f"Correct the model's name ({model}) or its base URL ({base_url}).",
        PauseKind.QUOTA: f"Add credit or raise the limit of the account behind {key} at the provider.",
        PauseKind.LIMITED: "Nothing to do: it reopens by itself at the time that the provider named.",
        PauseKind.UNREACHABLE: f"Make sure that {base_url} is running and reachable from the workers; it is probed.",
        PauseKind.FAILING: f"Ask the provider of {base_url} what is wrong; it is probed and reopens by itself.",
    }
    unknown = f"Read the error from {base_url}: correct its settings, or wait until it is fixed; it is probed."
    return next((words for one, words in known.items() if one == kind), unknown)
