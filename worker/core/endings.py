"""How a model's reply ended, read from its `finish_reason`: whole, cut short, filtered, or broken off. Pure."""

from __future__ import annotations

import re
from enum import StrEnum


class Ending(StrEnum):
    """What a `finish_reason` says of the reply that carries it."""

    WHOLE = "whole"
    """The model ended its turn."""
    CALLS = "calls"
    """The model ended its turn with tool calls: without any in the message, the endpoint lost them."""
    LENGTH = "length"
    """An output or context limit cut the reply."""
    FILTERED = "filtered"
    """The provider's filter cut or refused the reply."""
    BAD_CALL = "bad_call"
    """The endpoint could not read the tool call that the model wrote."""
    BROKEN_OFF = "broken_off"
    """The provider stopped before the reply was whole; it can be asked again."""


_RULES: tuple[tuple[Ending, frozenset[str]], ...] = (
    (Ending.BAD_CALL, frozenset({"malformed", "invalid", "unexpected", "unparsable"})),
    (Ending.FILTERED, frozenset({"filter", "filtered", "sensitive", "safety", "moderation", "moderated", "blocked",
        "blocklist", "prohibited", "recitation", "spii", "guardrail", "guardrails", "refusal", "policy"})),
    (Ending.BROKEN_OFF, frozenset({"error", "abort", "aborted", "fail", "failed", "failure", "network", "timeout",
        "cancelled", "canceled", "insufficient", "resource", "interrupted", "unavailable", "overloaded"})),
    (Ending.LENGTH, frozenset({"length", "max", "limit", "tokens", "truncated", "exceeded"})),
    (Ending.CALLS, frozenset({"tool", "tools", "function", "call", "calls"})),
    (Ending.WHOLE, frozenset({"stop", "stopped", "eos", "eot", "eom", "end", "done", "complete", "completed",
        "finish", "finished", "normal", "turn"})),
)  # fmt: skip
"""Words of a `finish_reason` in the order in which they count: `tool_error` is an error, `stop_filter` a filter."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def ending_of(finish_reason: str | None) -> Ending:
    """The ending that a `finish_reason` names, in whatever spelling. None and "" count as whole.

    A word that nobody knows is no sign of a whole reply: it counts as broken off.
    """
    if not finish_reason:
        return Ending.WHOLE
    words = {word.lower() for word in _WORD.findall(finish_reason.removeprefix("FinishReason."))}
    return next((ending for ending, known in _RULES if words & known), Ending.BROKEN_OFF)
