"""Replies that did not end normally: `finish_reason`, errors beside the message, endless thinking."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from worker.practice.quirks.base import Asked, Quirk
from worker.practice.records import Act, Completion, Say

WHOLE = ("stop", "end_turn", "STOP", "eos", "eos_token", "stop_sequence", "COMPLETE", "completed", "", None)
BROKEN = (
    "error", "abort", "aborted", "network_error", "insufficient_system_resource", "cancelled", "engine_failure",
    "timeout", "upstream_error", "OTHER", "FINISH_REASON_UNSPECIFIED", "connection_reset", "unknown",
)  # fmt: skip
LENGTH = (
    "length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded", "model_length", "max_output_tokens",
    "max_new_tokens", "token_limit",
)  # fmt: skip
FILTERED = (
    "content_filter", "sensitive", "SAFETY", "RECITATION", "PROHIBITED_CONTENT", "guardrail_intervened",
    "content_filtered", "BLOCKLIST",
)  # fmt: skip
NO_CALL = ("tool_calls", "function_call", "tool_use", "tool_call")
MISSHAPEN = (
    "MALFORMED_FUNCTION_CALL",
    "function_call_filter: MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "malformed_function_call",
)
ANNOUNCEMENTS = ("I'll look that up now.", "Let me compute this with the calculator.", "我来查一下。", "")
BESIDE: tuple[Mapping[str, Any], ...] = (
    {"message": "Upstream connection was reset", "code": 502},
    {"message": "Provider returned error", "code": "server_error", "metadata": {"provider_name": "Example"}},
    {"type": "overloaded_error", "message": "The model crashed while it generated"},
    {"code": 504, "message": "stream idle timeout"},
)


def halve(completion: Completion, share: float = 0.5) -> None:
    """Keeps the first part of the text; of a call, the first part of its arguments."""
    message = completion.message
    text = str(message.get("content") or "")
    message["content"] = text[: max(1, int(len(text) * share))]
    for call in message.get("tool_calls") or ():
        function = call["function"]
        function["arguments"] = function["arguments"][: max(1, int(len(function["arguments"]) * share))]


def _breaks_off(reasons: Sequence[str | None]) -> Callable[[Asked, Completion], None]:
    def change(asked: Asked, completion: Completion) -> None:
        if asked.fresh:
            halve(completion)
            completion.choice["finish_reason"] = asked.pick(reasons)

    return change


def _always(reasons: Sequence[str | None]) -> Callable[[Asked, Completion], None]:
    def change(asked: Asked, completion: Completion) -> None:
        halve(completion)
        completion.choice["finish_reason"] = asked.pick(reasons)

    return change


def _whole_action(asked: Asked, completion: Completion) -> None:
    """Sends everything, readable, but says that the reply is incomplete."""
    if asked.fresh and isinstance(completion.intent, Act):
        completion.choice["finish_reason"] = asked.pick(BROKEN)


def _ends_whole(asked: Asked, completion: Completion) -> None:
    completion.choice["finish_reason"] = asked.pick(WHOLE)


def _error_in_choice(asked: Asked, completion: Completion) -> None:
    if asked.fresh:
        halve(completion)
        completion.choice["error"] = asked.pick(BESIDE)


def _error_at_top(asked: Asked, completion: Completion) -> None:
    if asked.fresh:
        halve(completion)
        completion.body["error"] = asked.pick(BESIDE)


def _announced(reasons: Sequence[str]) -> Callable[[Asked, Completion], None]:
    def change(asked: Asked, completion: Completion) -> None:
        if asked.fresh and isinstance(completion.intent, Act):
            completion.message.pop("tool_calls", None)
            completion.message["content"] = asked.pick(ANNOUNCEMENTS)
            completion.choice["finish_reason"] = asked.pick(reasons)

    return change


def _announced_after_label(asked: Asked, completion: Completion) -> None:
    """Sends an answer by its label; its ending says that a call was meant."""
    if asked.fresh and isinstance(completion.intent, Act):
        completion.message.pop("tool_calls", None)
        label = "" if completion.form == "native" else "Answer: "
        completion.message["content"] = f"{label}{asked.pick(ANNOUNCEMENTS[:3])}"
        completion.choice["finish_reason"] = "tool_calls"


def _thinks(tokens: int) -> Callable[[Asked, Completion], None]:
    """Makes the model think for `tokens` tokens before its first word, as far as the limit allows."""

    def change(asked: Asked, completion: Completion) -> None:
        if asked.output_limit and asked.output_limit >= tokens:
            return
        field = asked.pick(("reasoning_content", "reasoning"))
        said = {"role": "assistant", "content": asked.pick(("", None)), field: "Hmm, let me think again. " * 8}
        completion.choice.update(message=said, finish_reason=asked.pick(("length", "max_tokens", "MAX_TOKENS")))
        spent = asked.output_limit or tokens
        completion.usage = completion.usage.with_completion(spent)
        completion.body["usage"] = completion.usage.as_usage() | {
            "completion_tokens_details": {"reasoning_tokens": spent}
        }

    return change


def _says_nothing(asked: Asked, completion: Completion) -> None:
    if asked.fresh:
        completion.message.pop("tool_calls", None)
        completion.message["content"] = asked.pick((None, "", "\n\n", " "))
        completion.choice["finish_reason"] = "stop"


def _refuses(asked: Asked, completion: Completion) -> None:
    if isinstance(completion.intent, Say):
        halve(completion)
    completion.choice["finish_reason"] = asked.pick(FILTERED)


_FILTER = "error:content_filter"
QUIRKS = (
    Quirk("ending-whole", "names the end of a turn in its own way", samples=len(WHOLE), change=_ends_whole),
    Quirk(
        "ending-broken", "breaks off in the middle of every first try, and says so in finish_reason",
        samples=len(BROKEN), change=_breaks_off(BROKEN),
    ),
    Quirk(
        "ending-broken-always", "breaks off in the middle of every reply", "paused", samples=len(BROKEN),
        change=_always(BROKEN),
    ),
    Quirk(
        "ending-broken-action", "says that it broke off, though the action can be read", samples=len(BROKEN),
        change=_whole_action,
    ),
    Quirk(
        "ending-length", "cuts every first try off at a length limit, in its own wording", samples=len(LENGTH),
        change=_breaks_off(LENGTH),
    ),
    Quirk(
        "ending-filter", "withholds the reply for its content, in its own wording", _FILTER,
        samples=len(FILTERED), change=_refuses,
    ),
    Quirk("error-in-choice", "sends an error beside half a message, in the choice", samples=4, change=_error_in_choice),
    Quirk("error-at-top", "sends an error beside half a message, at the top", samples=4, change=_error_at_top),
    Quirk("call-announced", "says that it calls a tool, but sends no call", samples=4, change=_announced(NO_CALL)),
    Quirk(
        "call-announced-as-answer", "says after the answer label that it calls a tool, but sends no call",
        samples=3, change=_announced_after_label,
    ),
    Quirk("call-malformed", "wrote a call that its server could not read", samples=4, change=_announced(MISSHAPEN)),
    Quirk(
        "thinking-long", "thinks for more tokens than the usual limit lets it write",
        "answered|error:output_limit", samples=6, change=_thinks(6000),
    ),
    Quirk(
        "thinking-endless", "thinks until the limit, however high it is", "error:output_limit", samples=6,
        change=_thinks(10_000_000),
    ),
    Quirk("reply-empty", "says nothing at every first try", samples=4, change=_says_nothing),
)  # fmt: skip
