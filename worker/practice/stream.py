"""A completion as the chunks of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_WRITTEN = ("role", "content", "tool_calls", "refusal")


def chunks(body: Mapping[str, Any], pieces: int, wants_usage: bool) -> Iterator[dict[str, Any]]:
    """Yields the chunks of a completion's `body`; the last one carries the usage if it was requested."""
    base = {name: body[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    choice = body["choices"][0]

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        said = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**base, "choices": [said], **({"usage": None} if wants_usage else {})}

    yield from (chunk(delta) for delta in _deltas(choice["message"], pieces))
    last = chunk({}, choice.get("finish_reason"))
    last["choices"][0] |= {name: value for name, value in choice.items() if name == "error"}
    yield last | {name: body[name] for name in ("error",) if name in body}
    if wants_usage:
        yield {**base, "choices": [], "usage": body.get("usage")}


def _deltas(message: Mapping[str, Any], pieces: int) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": "", **{k: v for k, v in message.items() if k not in _WRITTEN}}
    for piece in _pieces(message.get("content") or "", pieces):
        yield {"content": piece}
    for index, call in enumerate(message.get("tool_calls") or ()):
        written = call["function"]["arguments"]
        opening = {"index": index, **call, "function": {"name": call["function"]["name"], "arguments": ""}}
        yield {"tool_calls": [opening]}
        for piece in _pieces(written, 2):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: str, count: int) -> list[str]:
    size = max(1, -(-len(text) // max(1, count)))
    return [text[start : start + size] for start in range(0, len(text), size)]
