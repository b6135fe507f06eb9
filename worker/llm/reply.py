"""Reads a chat completion from its JSON. The OpenAI client's models would cost more than the rest of a call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from worker.core.errors import BadReply, BrokenOff, CallEnded, ContentFilter, UnknownError
from worker.core.finish_reasons import Ending, ending_of, reason_text, tells_of_trouble
from worker.core.records import JsonObject, Reply, Usage
from worker.llm.bodies import read_body
from worker.llm.classify import from_status
from worker.llm.deltas import join_chunks
from worker.llm.error_text import is_error_text
from worker.llm.errorbody import read_error, simple
from worker.llm.evidence import call_unreadable, said_by
from worker.llm.scrub import scrub
from worker.llm.usage import find_usage, reasoning_tokens

BAD_CALL = "malformed_function_call"
"""The `finish_reason` of a reply with a tool call that the endpoint could not read."""

_NOT_WHOLE = ("incomplete", "failed", "cancelled")
"""The `status` of a response or message that did not complete."""

_FLAGS = (
    *("aborted", "cancelled", "canceled", "interrupted", "incomplete", "failed", "errored", "timed_out", "is_error"),
    "disconnected",
)
"""Fields that mark a reply as incomplete."""

_OTHER_REASONS = ("stop_reason", "finishReason", "done_reason", "stop_type")
"""Where the reason is if not in `finish_reason`."""

_ERROR_FIELDS = frozenset(("msg", "message", "detail", "baseresp", "statusmsg", "fault"))
"""Names, as `simple` writes them, under which a body reports an error; all names that begin with `err` do too."""

_GENERATIONS = (
    *("failedgeneration", "rawgeneration", "rawoutput", "modeloutput", "generatedtext", "failedoutput", "generation"),
    *("rawresponse", "rawtext", "finishmessage"),
)
_GENERATION_IN_WORDS = re.compile(
    r"raw ?= ?'(?P<raw>.*)'(?:, ?err\b|$)"
    r"|(?:at pos \d+|(?:model )?(?:output|generation|response|input)) ?: ?(?P<rest>[^|].*)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply and what it cost; `usage` is None if the endpoint did not report it."""

    reply: Reply
    usage: Usage | None


def read_completion(content: bytes, headers: Mapping[str, str], secrets: Iterable[str] = ()) -> Completion:
    """Raises CallEnded if the 200 holds an error, a filtered or broken-off reply, or no completion at all."""
    body = read_body(content)
    data = _unwrapped(body)
    if data is None:
        raise _no_completion(body, secrets)
    usage = find_usage(data) or find_usage(body)
    failed = unreadable_call(200, data)
    if failed is not None:
        return Completion(failed, usage)
    choice = _first_choice(data)
    message = _message(choice)
    error = _error_beside(data, choice, message or {})
    if message is None or error is not None:
        raise _ended(data, error, message, headers, secrets, usage)
    reason = _cut_by_a_limit(data, choice, message) or _reason(choice)
    _check_ending(ending_of(reason), reason, bool(data.get("broken_off")), usage, secrets)
    text = _text(message.get("content"))
    if not _calls(message) and is_error_text(text):
        raise _error_as_reply(text, usage, secrets)
    only_thought = not text.strip() and not _calls(message) and _reasoned(message, data.get("usage"))
    return Completion(Reply(text, reason_text(reason), message, only_thought), usage)


def _error_as_reply(text: str, usage: Usage | None, secrets: Iterable[str]) -> BrokenOff:
    """Returns an error that is retried but pauses nothing at once, since the model may have written the text itself."""
    said = scrub(text, secrets)
    return BrokenOff(f"the model endpoint sent an error in place of a reply: {said}", usage=usage, status=200)


def unreadable_call(status: int, body: object) -> Reply | None:
    """Returns the model's own words if the endpoint could not read them as a tool call; else None.

    The request is not at fault: the dialect reads the text as a leaked call, or asks again.
    """
    if not isinstance(body, Mapping) or body.get("choices"):
        return None
    error = read_error(body)
    named = next((text for name, text in error.fields if name in _GENERATIONS and isinstance(text, str)), None)
    if named is None and not call_unreadable(said_by(status, error)):
        return None
    if named is None:
        found = _GENERATION_IN_WORDS.search(error.said)
        named = (found["raw"] or found["rest"] or "") if found else None
    if named is None and "tool_use_failed" not in error.codes:
        return None
    text = named or ""
    return Reply(text, BAD_CALL, {"role": "assistant", "content": text})


def _unwrapped(body: object) -> JsonObject | None:
    """Returns the object with the completion or error; some gateways wrap it, or send a list of one."""
    if isinstance(body, list):
        body = join_chunks(body)
    if not isinstance(body, dict):
        return None
    for name in ("data", "result", "response", "output"):
        inner = body.get(name)
        if "choices" not in body and isinstance(inner, dict) and isinstance(inner.get("choices"), list):
            return inner
    return body


def _no_completion(body: object, secrets: Iterable[str]) -> CallEnded:
    if isinstance(body, str):
        said = scrub(body, secrets)
        return BadReply(
            f"the model endpoint answered 200 with a body that is not JSON; is it a chat API? {said}".strip()
        )
    return BadReply("the model endpoint answered 200 with JSON that is not an object")


def _first_choice(data: JsonObject) -> JsonObject:
    choices = data.get("choices")
    found = choices if isinstance(choices, list) else []
    return next((choice for choice in found if isinstance(choice, dict)), {})


def _message(choice: JsonObject) -> JsonObject | None:
    for name in ("message", "delta"):
        if isinstance(choice.get(name), dict):
            return dict(choice[name])
    for name in ("message", "text"):
        if isinstance(choice.get(name), str):
            return {"role": "assistant", "content": choice[name]}
    return None


def _error_beside(data: JsonObject, choice: JsonObject, message: JsonObject) -> object | None:
    """Returns an error that is next to a message, or in it, as an error body of its own."""
    cut = _cut_by_a_limit(data, choice, message)
    for holder in (data, choice, message):
        found = next((holder[name] for name in ("error", "errors") if _says_something(holder.get(name))), None)
        if found is not None:
            return {"error": found}
        flag = next((name for name in _FLAGS if holder.get(name) is True), None)
        if flag is not None:
            return {"error": {"message": f"the reply is marked as {flag}"}}
        if not cut and (holder.get("incomplete_details") or holder.get("status") in _NOT_WHOLE):
            return {"error": {"message": "the reply is incomplete", "details": holder.get("incomplete_details")}}
    base = data.get("base_resp")
    if isinstance(base, dict) and str(base.get("status_code") or 0) != "0":
        return {"base_resp": base}
    return None


def _cut_by_a_limit(*holders: JsonObject) -> str | None:
    """Returns the reason in a reply's `incomplete_details` if it is a token limit."""
    found = (reason_text(holder.get("incomplete_details")) for holder in holders)
    return next((reason for reason in found if reason and ending_of(reason) is Ending.LENGTH), None)


def _reason(choice: JsonObject) -> object:
    """Returns why the reply ended: in the gateway's word, unless there is none or the provider's own is worse."""
    told, native = choice.get("finish_reason"), choice.get("native_finish_reason")
    if tells_of_trouble(native) or (native and not reason_text(told)):
        return native
    if reason_text(told):
        return told
    # Some endpoints put the stop sequence that was met under these names; it says nothing about the ending.
    return next((choice[name] for name in _OTHER_REASONS if tells_of_trouble(choice.get(name))), told)


def _says_something(error: object) -> bool:
    read = read_error(error)
    return bool(read.message or set(read.codes) - {"0", "200"})


def _ended(
    data: JsonObject,
    error: object | None,
    message: JsonObject | None,
    headers: Mapping[str, str],
    secrets: Iterable[str],
    usage: Usage | None,
) -> CallEnded:
    if error is None and not _looks_like_an_error(data):
        reason = _blocked(data)
        if reason is not None:
            return ContentFilter(
                f"the provider's filter refused the conversation ({scrub(reason, secrets)})", usage=usage, status=200
            )
        return BadReply("the model endpoint answered 200 without a message", usage=usage, status=200)
    ended = from_status(200, error or data, headers, secrets=secrets, usage=usage)
    if message is not None and isinstance(ended, UnknownError):
        return BrokenOff(ended.message, retry_after_s=ended.retry_after_s, usage=usage, status=200)
    return ended


def _looks_like_an_error(data: JsonObject) -> bool:
    names = {simple(name) for name, value in data.items() if value}
    return any(name in _ERROR_FIELDS or name.startswith("err") for name in names)


def _blocked(data: JsonObject) -> str | None:
    """Returns the reason for a prompt that Gemini refuses: no choices and a block reason."""
    feedback = data.get("promptFeedback") or data.get("prompt_feedback")
    reason = feedback.get("blockReason") or feedback.get("block_reason") if isinstance(feedback, dict) else None
    return str(reason) if reason else None


def _check_ending(ending: Ending, reason: object, no_end: bool, usage: Usage | None, secrets: Iterable[str]) -> None:
    if ending is Ending.FILTERED:
        raise ContentFilter(
            f"the provider's content filter cut the reply ({scrub(str(reason), secrets)})", usage=usage, status=200
        )
    if ending is Ending.BROKEN_OFF:
        raise BrokenOff(f"the provider broke its reply off ({scrub(str(reason), secrets)})", usage=usage, status=200)
    if no_end:
        raise BrokenOff("the provider's stream stopped before the reply was complete", usage=usage, status=200)


def _calls(message: JsonObject) -> bool:
    return bool(message.get("tool_calls") or message.get("function_call"))


def _reasoned(message: JsonObject, usage: object) -> bool:
    """Whether the model was thinking, by its text or by its token counts."""
    if any(
        message.get(name)
        for name in ("reasoning_content", "reasoning", "reasoning_details", "thinking", "thinking_blocks")
    ):
        return True
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    thought = any(isinstance(part, dict) and _is_thinking(part) for part in parts)
    return thought or reasoning_tokens(usage) > 0 or _only_think_block(content)


def _only_think_block(content: object) -> bool:
    return isinstance(content, str) and content.lstrip().startswith("<think>")


def _is_thinking(part: Mapping[str, Any]) -> bool:
    return (
        str(part.get("type", "")).lower() in ("thinking", "reasoning", "redacted_thinking", "reasoning_text", "thought")
        or part.get("thought") is True
    )


def _text(content: object) -> str:
    """Returns the text of content that is text, null, a part, or a list of parts, without the thinking ones."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    return "".join(_part_text(part) for part in parts)


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict) or _is_thinking(part):
        return ""
    text = part.get("text")
    return text if isinstance(text, str) else ""
