"""What the pause of a model endpoint is about, and the one sentence that says what a person must do. Pure."""

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
    """Why nobody calls an endpoint at present."""

    BY_HAND = "by_hand"
    KEY = "key"
    ACCESS = "access"
    MODEL = "model"
    QUOTA = "quota"
    LIMITED = "limited"
    UNREACHABLE = "unreachable"
    FAILING = "failing"
    """It answers nobody; whatever is wrong with it is expected to pass."""
    UNKNOWN = "unknown"
    """It answers nobody, with an error that is not recognised."""


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
"""Somebody must act, even where the provider names a time at which it may pass by itself."""

OPENED_BY_ANY_ANSWER = frozenset({PauseKind.UNREACHABLE, PauseKind.FAILING, PauseKind.UNKNOWN})
"""Paused since it answered nobody: whoever gets an answer after all shows that it is back."""


def pause_kind(error: CallEnded, for_s: float | None = None) -> PauseKind:
    """What a pause for this error is about. `for_s`: how long it lasts, None without an end in sight."""
    found = next((kind for cls, kind in _KINDS if isinstance(error, cls)), PauseKind.FAILING)
    return PauseKind.FAILING if found is PauseKind.LIMITED and for_s is None else found


def remedy(kind: str | None, model: str, base_url: str, api_key_env: str | None) -> str:
    """What a person must do about a pause of this kind; None and unknown kinds: of another version."""
    key = api_key_env or "OPENAI_API_KEY"
    known = {
        PauseKind.BY_HAND: f"`stepmill models resume {model}` lets it be called again.",
        PauseKind.KEY: f"Put a valid key for {base_url} into {key}; it is read again without a restart.",
        PauseKind.ACCESS: f"Give the key in {key} the right to use {model} at {base_url}, or name another model.",
        PauseKind.MODEL: f"Correct the model's name ({model}) or its base URL ({base_url}).",
        PauseKind.QUOTA: f"Add credit or raise the limit of the account behind {key} at the provider.",
        PauseKind.LIMITED: "Nothing has to be done: it opens by itself at the time that the provider named.",
        PauseKind.UNREACHABLE: f"See to it that {base_url} runs and can be reached from the workers; it is probed.",
        PauseKind.FAILING: f"Ask the provider of {base_url} what is wrong; it is probed and opens by itself.",
    }
    unknown = f"Look at the words of {base_url}: correct its settings, or wait until it is mended; it is probed."
    return next((words for one, words in known.items() if one == kind), unknown)
