"""Builds the completion of a chat request: the brain's intent in its form, untidy or cut off if set so."""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Mapping
from typing import Any

from worker.practice.brain import think
from worker.practice.config import Config
from worker.practice.faults import Fault
from worker.practice.forms import native_calls, write
from worker.practice.reading import read
from worker.practice.records import Act, Completion
from worker.practice.tokens import BYTES_PER_TOKEN, Counted, tokens_of
from worker.practice.untidy import untidy, untidy_native


def complete(body: Mapping[str, Any], config: Config, counted: tuple[int, int], fault: Fault | None) -> Completion:
    """Returns the completion of a request with `counted` prompt tokens. The same request always gets the same words."""
    conversation = read(body)
    intent = think(conversation)
    digest = _digest(body)
    text = write(intent, conversation.form, conversation.tools)
    calls = native_calls(intent, digest[:12]) if isinstance(intent, Act) and conversation.form == "native" else []
    kind = None if conversation.corrected else _untidiness(config, digest)
    if kind is not None:
        text, calls = untidy_native(kind, text, calls) if conversation.form == "native" else (untidy(kind, text), calls)
    else:
        text = _stopped(text, body.get("stop"))
    message: dict[str, Any] = {"role": "assistant", "content": text or None if calls else text, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    finish = "tool_calls" if calls else "length" if kind == "cut" and conversation.form != "native" else "stop"
    message, finish = _altered(message, finish, fault, body)
    usage = Counted(*counted, completion=_completion_tokens(message))
    return Completion(_envelope(body, digest, message, finish, usage), intent, usage, conversation.form, kind)


def _envelope(body: Mapping[str, Any], digest: str, message: Any, finish: str, usage: Counted) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{digest[:24]}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.get("model"),
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": usage.as_usage(),
    }


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(repr(body.get("messages")).encode("utf-8", "surrogatepass")).hexdigest()


def _untidiness(config: Config, digest: str) -> str | None:
    """Picks the kind from the seed and the conversation alone, so that a repeated request gets the same answer."""
    if not config.untidy:
        return None
    source = random.Random(f"{config.seed}:{digest}")
    return source.choice(config.untidy) if source.random() < config.untidy_rate else None


def _stopped(text: str, stop: Any) -> str:
    sequences = [stop] if isinstance(stop, str) else list(stop or ())
    cuts = [at for sequence in sequences if sequence and (at := text.find(sequence)) >= 0]
    return text[: min(cuts)] if cuts else text


def _altered(
    message: dict[str, Any], finish: str, fault: Fault | None, body: Mapping[str, Any]
) -> tuple[dict[str, Any], str]:
    """Returns the message as changed by a fault or the token limit."""
    kind = fault.kind if fault else None
    if kind == "content_filter":
        return {"role": "assistant", "content": "", "refusal": None}, "content_filter"
    if kind == "refusal":
        return {"role": "assistant", "content": None, "refusal": "I cannot help with that."}, "stop"
    if kind == "empty":
        return {"role": "assistant", "content": "", "refusal": None}, "stop"
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    text = message["content"] or ""
    if kind == "length":
        limit = max(1, tokens_of(text) // 2)
    if limit is None or tokens_of(text) <= limit:
        return message, finish
    kept = text.encode("utf-8", "replace")[: int(limit) * BYTES_PER_TOKEN].decode("utf-8", "ignore")
    return {"role": "assistant", "content": kept, "refusal": None}, "length"


def _completion_tokens(message: Mapping[str, Any]) -> int:
    calls = message.get("tool_calls") or ()
    written = [call["function"]["name"] + call["function"]["arguments"] for call in calls]
    return tokens_of((message.get("content") or "") + "".join(written))
