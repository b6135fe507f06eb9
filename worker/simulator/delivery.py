"""Sends a completion, whole or as a stream of events, through the faults of a connection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from worker.simulator.completion import Completion
from worker.simulator.faults import Fault
from worker.simulator.http import Exchange, encode
from worker.simulator.ledger import Entry

_NEVER_S = 24 * 3600.0


async def deliver(
    exchange: Exchange, completion: Completion, body: Mapping[str, Any], entry: Entry, fault: Fault | None, pieces: int
) -> None:
    """Sends the completion as the request asked; notes the status once it is on its way."""
    kind = fault.kind if fault else ""
    if kind == "timeout":
        await exchange.pause(_NEVER_S)
        return
    if kind == "drop":
        exchange.abort()
        return
    entry.status = 200
    gap_s = fault.seconds if fault and kind == "drip" else 0.0
    if body.get("stream"):
        await _stream(exchange, completion, body, entry, pieces, gap_s, kind in ("cut_stream", "drop_mid"))
        return
    whole = b"<html>upstream said nothing" if kind == "garbage" else encode(completion.body)
    headers = {"content-type": "application/json", "x-request-id": entry.request_id}
    await exchange.send_head(200, headers, whole)
    if kind in ("drop_mid", "cut_stream"):
        await exchange.write(whole[: len(whole) // 2])
        exchange.close()
    elif gap_s:
        await _drip(exchange, whole, gap_s)
    else:
        await exchange.write(whole)


async def _drip(exchange: Exchange, data: bytes, gap_s: float) -> None:
    """One byte at a time, each before a read time-out would strike."""
    for index in range(len(data)):
        await exchange.write(data[index : index + 1])
        if not await exchange.pause(gap_s):
            return


async def _stream(
    exchange: Exchange,
    completion: Completion,
    body: Mapping[str, Any],
    entry: Entry,
    pieces: int,
    gap_s: float,
    cut: bool,
) -> None:
    headers = {"content-type": "text/event-stream", "cache-control": "no-cache", "x-request-id": entry.request_id}
    await exchange.send_head(200, headers, None)
    wants_usage = bool((body.get("stream_options") or {}).get("include_usage"))
    events = [encode(event) for event in _events(completion, pieces, wants_usage)]
    for event in events[: len(events) // 2] if cut else (*events, b"[DONE]"):
        await exchange.write_chunk(b"data: " + event + b"\n\n")
        if not await exchange.pause(gap_s):
            return
    if cut:
        exchange.close()
    else:
        await exchange.write_chunk(b"")


def _events(completion: Completion, pieces: int, wants_usage: bool) -> Iterator[dict[str, Any]]:
    """The chunks of a stream; the last one carries the usage where it was asked for."""
    base = {name: completion.body[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**base, "choices": [choice], **({"usage": None} if wants_usage else {})}

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(completion.message.get("content") or "", pieces):
        yield chunk({"content": piece})
    for index, call in enumerate(completion.message.get("tool_calls") or ()):
        written = call["function"]["arguments"]
        opening = {"index": index, **call, "function": {"name": call["function"]["name"], "arguments": ""}}
        yield chunk({"tool_calls": [opening]})
        for piece in _pieces(written, 2):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, completion.finish_reason)
    if wants_usage:
        yield {**base, "choices": [], "usage": completion.usage.as_usage()}


def _pieces(text: str, count: int) -> list[str]:
    size = max(1, -(-len(text) // max(1, count)))
    return [text[start : start + size] for start in range(0, len(text), size)]
