"""Reads from a `finish_reason` how a reply ended: whole, cut short, filtered, or broken off. Pure."""

from __future__ import annotations

import re
from enum import StrEnum


class Ending(StrEnum):
    """What a `finish_reason` says about its reply."""

    WHOLE = "whole"
    """The model ended its turn."""
    CALLS = "calls"
    """The model ended its turn with tool calls; if the message has none, the endpoint lost them."""
    LENGTH = "length"
    """An output or context limit cut the reply."""
    FILTERED = "filtered"
    """The provider's filter cut or refused the reply."""
    BAD_CALL = "bad_call"
    """The endpoint could not read the tool call that the model wrote."""
    BROKEN_OFF = "broken_off"
    """The provider stopped before the reply was complete; the request can be repeated."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RULES: tuple[tuple[Ending, frozenset[str]], ...] = (
    (
        Ending.FILTERED,
        _words(
            "filter filtered filters filtering sensitive safety moderation moderated block blocked blocklist prohibited"
            " recitation spii guardrail guardrails refusal refused policy intervened unsafe violation flagged toxic"
            " toxicity risk harmful inspection"
        ),
    ),
    (
        Ending.BROKEN_OFF,
        _words(
            "error errored err abort aborted fail failed failure network timeout timed cancelled canceled cancel"
            " insufficient resource resources interrupted interrupt unavailable overloaded overload disconnect"
            " disconnected killed preempted crashed exception internal server deadline expired incomplete partial load"
            " rate busy lost unknown other language"
        ),
    ),
    (
        Ending.LENGTH,
        _words(
            "length len max maximum limit limited tokens truncated truncation exceeded context window budget size long"
        ),
    ),
    (Ending.CALLS, _words("tool tools function functions call calls action")),
    (
        Ending.WHOLE,
        _words(
            "stop stopped stops eos eot eom eog end ended ending done complete completed completion finish finished"
            " normal turn success succeeded ok natural sequence"
        ),
    ),
)
"""Words of a `finish_reason` by precedence: `tool_error` is an error, `stop_filter` a filter."""

_BAD = _words("malformed unexpected invalid unparsable unparseable unparsed")
_OF_CALLS = _words("tool tools function functions call calls")

_FILTERS = _words("filter guardrail guardrails moderation safety inspection policy")
_UNREACHED = _words("timeout timed unavailable unreachable overloaded crashed exception network internal server")
"""Words that mean a filter could not run: the reply was broken off, not refused."""

_EXACT = {
    "s": Ending.WHOLE,  # `</s>`
    "finish_reason_unspecified": Ending.BROKEN_OFF,
    "unspecified": Ending.BROKEN_OFF,
    "null": Ending.WHOLE,
    "none": Ending.WHOLE,
    "not_finished": Ending.BROKEN_OFF,
    "unfinished": Ending.BROKEN_OFF,
    "pause_turn": Ending.BROKEN_OFF,
    "error_limit": Ending.LENGTH,  # Cohere: the context limit
    "tool_use_failed": Ending.BAD_CALL,
    "too_many_tool_calls": Ending.BROKEN_OFF,
}

# Google's enumeration by number, as sent by gateways that pass on the protocol's own value.
_NUMBERS = (
    *("unspecified", "stop", "max_tokens", "safety", "recitation", "other", "blocklist", "prohibited_content", "spii"),
    "malformed_function_call",
)

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def ending_of(finish_reason: object) -> Ending:
    """Returns the ending that a `finish_reason` means, in any spelling. None and "" count as whole.

    An unknown word counts as broken off, because it is no evidence of a whole reply.
    """
    reason = reason_text(finish_reason)
    if not reason or not reason.strip():
        return Ending.WHOLE
    found = [word.lower() for word in _WORD.findall(reason.removeprefix("FinishReason."))]
    exact = _EXACT.get("_".join(found))
    words = set(found)
    if words & _BAD and words & _OF_CALLS:
        return Ending.BAD_CALL
    if words & _FILTERS and words & _UNREACHED:
        return Ending.BROKEN_OFF
    return exact or next((ending for ending, known in _RULES if words & known), Ending.BROKEN_OFF)


def tells_of_trouble(native_reason: object) -> bool:
    """Returns whether a provider's own reason, which a gateway passes on besides its own, says that a reply is not
    whole. Unknown words are ignored here."""
    words = {word.lower() for word in _WORD.findall(reason_text(native_reason) or "")}
    return any(words & known for _, known in _RULES) and ending_of(native_reason) not in (Ending.WHOLE, Ending.CALLS)


def reason_text(finish_reason: object) -> str | None:
    """Returns a `finish_reason` as text: a number's name, an object's type; None if there is none."""
    if isinstance(finish_reason, dict):
        named = (finish_reason.get(name) for name in ("type", "reason", "name"))
        finish_reason = next((name for name in named if isinstance(name, str)), "odd")
    if finish_reason is None or isinstance(finish_reason, str):
        return finish_reason
    if isinstance(finish_reason, int) and not isinstance(finish_reason, bool) and 0 <= finish_reason < len(_NUMBERS):
        return _NUMBERS[finish_reason]
    return str(finish_reason)[:100]
