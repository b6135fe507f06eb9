"""Parses server-sent events line by line as they arrive."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from worker.core.records import JsonObject


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `number` is its id for `Last-Event-ID`, None for events that are not replayed."""

    kind: str
    data: JsonObject
    number: str | None = None


IDLE = Event("idle", {})
"""A sign of life: nothing has happened since the last event."""


def lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yields the lines of a stream. Only a line feed ends a line: text may contain other Unicode line separators."""
    left = b""
    for chunk in chunks:
        *whole, left = (left + chunk).split(b"\n")
        yield from (line.removesuffix(b"\r").decode("utf-8", "replace") for line in whole)


def read_events(lines: Iterable[str]) -> Iterator[Event]:
    """Yields the events of a stream, `IDLE` for a comment. Drops an event that was cut off, as it will be replayed."""
    fields: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith(":"):
            yield IDLE
            continue
        if line:
            name, _, value = line.partition(":")
            fields.setdefault(name, []).append(value.removeprefix(" "))
            continue
        if "data" in fields:
            yield _event(fields)
        fields = {}


def _event(fields: dict[str, list[str]]) -> Event:
    kind = fields.get("event", ["message"])[-1]
    number = fields.get("id", [""])[-1] or None
    return Event(kind, json.loads("\n".join(fields["data"])), number)
