"""Sends a completion, whole or as a stream of events, with any faults of the connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worker.practice.faults import Fault
from worker.practice.http import Exchange, encode
from worker.practice.ledger import Entry
from worker.practice.quirks.base import Wire
from worker.practice.records import Completion
from worker.practice.stream import chunks

_NEVER_S = 24 * 3600.0


async def send(exchange: Exchange, wire: Wire, entry: Entry) -> None:
    """Sends a response whose bytes are known."""
    await exchange.send_head(wire.status, {**wire.headers, "x-request-id": entry.request_id}, wire.data)
    await exchange.write(wire.data)


async def deliver(
    exchange: Exchange, completion: Completion, body: Mapping[str, Any], entry: Entry, fault: Fault | None, pieces: int
) -> None:
    """Sends the completion as the request asked; records the status once sending begins."""
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
    """Sends one byte at a time, each just in time to prevent a read time-out."""
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
    events = [encode(event) for event in chunks(completion.body, pieces, wants_usage)]
    for event in events[: len(events) // 2] if cut else (*events, b"[DONE]"):
        await exchange.write_chunk(b"data: " + event + b"\n\n")
        if not await exchange.pause(gap_s):
            return
    if cut:
        exchange.close()
    else:
        await exchange.write_chunk(b"")
