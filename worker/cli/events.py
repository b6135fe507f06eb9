"""Server-sent events as they come over the wire, read line by line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from worker.core.records import JsonObject


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `number` is what `Last-Event-ID` takes, None for those that are not repeated."""

    kind: str
    data: JsonObject
    number: str | None = None


IDLE = Event("idle", {})
"""A sign of life: nothing has happened since the last event."""


def lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """The lines of a stream. Only a line feed ends one: texts within may hold what Unicode calls a line's end."""
    left = b""
    for chunk in chunks:
        *whole, left = (left + chunk).split(b"\n")
        yield from (line.removesuffix(b"\r").decode("utf-8", "replace") for line in whole)


def read_events(lines: Iterable[str]) -> Iterator[Event]:
    """The events of a stream. A comment is `IDLE`; an event that was cut off is dropped, as it will come again."""
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
