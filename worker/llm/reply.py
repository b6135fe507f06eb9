"""Reads a chat completion from its JSON, without the client's models: they cost more than the rest of a call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import orjson

from worker.core.errors import BadReply, CallEnded, ContentFilter
from worker.core.records import Reply, Usage
from worker.llm.classify import from_status


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply and what it cost; `usage` is None where the endpoint did not say."""

    reply: Reply
    usage: Usage | None


def read_completion(content: bytes, headers: Mapping[str, str], secrets: Iterable[str] = ()) -> Completion:
    """CallEnded when the 200 holds an error, a filtered reply, or no completion at all."""
    try:
        data = orjson.loads(content)
    except orjson.JSONDecodeError:
        raise BadReply("the model endpoint answered 200 with a body that is no JSON: is it a chat API?") from None
    if not isinstance(data, dict):
        raise BadReply("the model endpoint answered 200 with JSON that is no object")
    usage = read_usage(data.get("usage"))
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    if not isinstance(message, dict):
        raise _no_message(data, headers, usage, secrets)
    reason = choice.get("finish_reason")
    if reason == "content_filter":
        raise ContentFilter("the provider's content filter cut the reply", usage=usage, status=200)
    text = _text(message.get("content"))
    only_thought = not text.strip() and not message.get("tool_calls") and _reasoned(message, data.get("usage"))
    return Completion(Reply(text, _or_none(reason), message, only_thought), usage)


def _reasoned(message: dict[str, object], usage: object) -> bool:
    """Whether the model thought, by what it wrote or by the tokens that were counted."""
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
    counted = _count(details.get("reasoning_tokens")) if isinstance(details, dict) else 0
    return bool(counted or message.get("reasoning_content") or message.get("reasoning"))


def _no_message(
    data: dict[str, object], headers: Mapping[str, str], usage: Usage | None, secrets: Iterable[str]
) -> CallEnded:
    error = data.get("error")
    if not error:
        return BadReply("the model endpoint answered 200 without a message", usage=usage, status=200)
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 502  # routers report their provider's error so
    return from_status(status, data, headers, secrets=secrets)


def read_usage(raw: object) -> Usage | None:
    """Tokens from the shapes of OpenAI and DeepSeek; None when neither side was counted."""
    if not isinstance(raw, dict) or not {"prompt_tokens", "completion_tokens"} & raw.keys():
        return None
    details = raw.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else 0
    prompt = _count(raw.get("prompt_tokens"))
    cached = cached or _count(raw.get("prompt_cache_hit_tokens"))
    return Usage(prompt, min(cached, prompt), _count(raw.get("completion_tokens")))


def _count(value: object) -> int:
    return int(value) if isinstance(value, int | float) and value > 0 else 0


def _or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _text(content: object) -> str:
    """Content is text, null, or a list of parts of which the text ones count."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [
        part.get("text") for part in content if isinstance(part, dict) and part.get("type") in ("text", "output_text")
    ]
    return "".join(text for text in texts if isinstance(text, str))
