"""How endpoints report what a reply cost, or fail to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from worker.practice.quirks.base import Asked, Quirk
from worker.practice.records import Completion

Usage = dict[str, Any]
_THOUGHT_TOKENS = 37


def _usage(alter: Callable[[Usage], Usage | None]) -> Callable[[Asked, Completion], None]:
    def change(asked: Asked, completion: Completion) -> None:
        completion.body["usage"] = alter(completion.body["usage"])

    return change


def _absent(asked: Asked, completion: Completion) -> None:
    completion.body.pop("usage", None)


def _thought_apart(asked: Asked, completion: Completion) -> None:
    """Charges for thinking, but counts it only in the total."""
    completion.body["usage"]["total_tokens"] += _THOUGHT_TOKENS
    completion.usage = completion.usage.with_completion(completion.usage.completion + _THOUGHT_TOKENS)


def _without(*names: str) -> Callable[[Usage], Usage]:
    return lambda usage: {name: value for name, value in usage.items() if name not in names}


def _as_text(usage: Usage) -> Usage:
    return {name: str(value) if isinstance(value, int) else value for name, value in usage.items()}


def _as_float(usage: Usage) -> Usage:
    return {name: float(value) if isinstance(value, int) else value for name, value in usage.items()}


def _null_details(usage: Usage) -> Usage:
    return {**usage, "prompt_tokens_details": None, "completion_tokens_details": None}


def _newer_names(usage: Usage) -> Usage:
    return {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]}


QUIRKS = (
    Quirk("usage-absent", "reports no usage", change=_absent),
    Quirk("usage-null", "reports null as usage", change=_usage(lambda usage: None)),
    Quirk("usage-empty", "reports an empty object as usage", change=_usage(lambda usage: {})),
    Quirk("usage-partial", "leaves completion_tokens out", change=_usage(_without("completion_tokens"))),
    Quirk(
        "usage-prompt-only",
        "reports only the prompt's tokens",
        change=_usage(_without("completion_tokens", "total_tokens")),
    ),
    Quirk("usage-thought", "counts thinking only in the total", change=_thought_apart),
    Quirk("usage-text", "writes token counts as text", change=_usage(_as_text)),
    Quirk("usage-float", "writes token counts as 12.0", change=_usage(_as_float)),
    Quirk("usage-details-null", "reports null as the usage's details", change=_usage(_null_details)),
    Quirk("usage-newer", "names tokens as the newer API does", change=_usage(_newer_names)),
)
