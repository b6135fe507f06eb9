"""Fields of an assistant message beyond the chat API: stored with its step, sent back, omitted if refused.

Providers put things there that they require back, such as thoughts and their signatures. They are sent back unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import orjson

from worker.core.records import JsonObject, Message

MAX_KEPT_BYTES = 256 * 1024
"""The most that is kept per message, as JSON; beyond it the largest fields are dropped and their names recorded."""

LONGEST_PLAIN_ID = 64
"""A longer tool call id is more than a name: some gateways put a signature in it."""

_OF_MESSAGE = frozenset({"role", "content", "tool_calls", "function_call", "refusal", "annotations", "audio"})
"""Fields that the dialects write themselves, and fields of replies only, which strict servers refuse in requests."""
_OF_FUNCTION = frozenset({"name", "arguments", "parameters", "args", "input", "arguments_json"})
_OF_CALL = _OF_FUNCTION | {"id", "call_id", "tool_call_id", "type", "index", "function"}


def message_extra(message: JsonObject) -> JsonObject:
    """Returns the non-empty fields of an assistant message that are not in the chat API."""
    return _beyond(message, _OF_MESSAGE)


def call_extra(item: JsonObject) -> JsonObject:
    """Returns the same fields of one tool call, with those of its function under `function`."""
    found = _beyond(item, _OF_CALL)
    function = item.get("function")
    inner = _beyond(function, _OF_FUNCTION) if isinstance(function, dict) else {}
    return found | {"function": inner} if inner else found


def with_extra(known: JsonObject, extra: JsonObject) -> JsonObject:
    """Returns a message or tool call with its stored extras added; existing fields are never replaced."""
    merged = {**known, **{name: value for name, value in extra.items() if name not in known}}
    if isinstance(known.get("function"), dict) and isinstance(extra.get("function"), dict):
        merged["function"] = with_extra(known["function"], extra["function"])
    return merged


def _beyond(given: JsonObject, known: Collection[str]) -> JsonObject:
    return {name: value for name, value in given.items() if name not in known and value not in (None, "", [], {})}


# ---- storing extras with a step ----


def to_store(of_message: JsonObject, of_calls: Sequence[JsonObject]) -> JsonObject | None:
    """Combines the extras into one JSON object within `MAX_KEPT_BYTES`; None if there is nothing to keep."""
    places: list[JsonObject] = [dict(of_message), *map(dict, of_calls)]
    left_out = _bound(places)
    stored: JsonObject = {}
    if places[0]:
        stored["message"] = places[0]
    if any(places[1:]):
        stored["calls"] = places[1:]
    if left_out:
        stored["left_out"] = left_out
    return stored or None


def _bound(places: Sequence[JsonObject]) -> list[str]:
    """Removes the largest fields until the rest fits; returns their names and sizes."""
    sizes = sorted((_size(value), at, name) for at, place in enumerate(places) for name, value in place.items())
    left_out: list[str] = []
    room = MAX_KEPT_BYTES
    for size, at, name in sizes:
        room -= size
        if room < 0:
            left_out.append(f"{name} ({size} bytes)")
            del places[at][name]
    return left_out


def of_message(stored: JsonObject | None) -> JsonObject:
    """Returns the stored extras of the message itself."""
    return dict((stored or {}).get("message", {}))


def of_call(stored: JsonObject | None, number: int) -> JsonObject:
    """Returns the stored extras of a step's tool call, numbered from 1."""
    calls = (stored or {}).get("calls", [])
    return dict(calls[number - 1]) if number <= len(calls) else {}


def _size(value: Any) -> int:
    try:
        return len(orjson.dumps(value))
    except TypeError:  # a lone surrogate, a huge integer, or unusually deep nesting
        return _unusual_size(value)


def _unusual_size(value: Any) -> int:
    try:
        return len(json.dumps(value))
    except RecursionError:
        return MAX_KEPT_BYTES + 1


# ---- call ids that must be sent back ----


def tied_id(call_id: str | None, *extras: JsonObject) -> str | None:
    """Returns the endpoint's own call id if it must be sent back: the extras contain it, or it is long; else None."""
    if not call_id:
        return None
    named = any(call_id == text for extra in extras for text in _strings(extra))
    return call_id if named or len(call_id) > LONGEST_PLAIN_ID else None


def untied(extra: JsonObject, call_ids: Collection[str]) -> JsonObject:
    """Returns the fields that contain none of these call ids, for a message whose calls are not sent back."""
    return {name: value for name, value in extra.items() if not any(text in call_ids for text in _strings(value))}


def _strings(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, dict | list):
            waiting += found.values() if isinstance(found, dict) else found


# ---- what an endpoint may refuse ----


def echoed(messages: Sequence[Message]) -> frozenset[str]:
    """Returns the names of all extra fields in these messages, which an endpoint may refuse by name."""
    return frozenset(name for part in _parts(messages) for name in part if name not in _OF_MESSAGE | _OF_CALL)


def without_echo(messages: Sequence[Message], names: Collection[str]) -> list[Message]:
    """Returns the messages without these extra fields. Fields of the chat API always stay."""
    refused = frozenset(names) - _OF_MESSAGE - _OF_CALL
    return [_without(message, refused) for message in messages]


def _parts(messages: Sequence[Message]) -> Iterator[JsonObject]:
    """Yields the assistant's messages, their tool calls, and the functions of those."""
    for message in messages:
        if message.get("role") == "assistant":
            yield message
            for call in message.get("tool_calls") or ():
                yield call
                yield call.get("function", {})


def _without(message: Message, names: Collection[str]) -> Message:
    if message.get("role") != "assistant":
        return message
    kept = {name: value for name, value in message.items() if name not in names}
    if kept.get("tool_calls"):
        kept["tool_calls"] = [_call_without(call, names) for call in kept["tool_calls"]]
    return kept


def _call_without(call: JsonObject, names: Collection[str]) -> JsonObject:
    kept = {name: value for name, value in call.items() if name not in names}
    if isinstance(kept.get("function"), dict):
        kept["function"] = {name: value for name, value in kept["function"].items() if name not in names}
    return kept
