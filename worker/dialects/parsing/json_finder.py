"""Finds the JSON objects that count in a reply, whatever surrounds them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from worker.core.records import JsonObject
from worker.dialects.parsing.labels import Kind, find_labels
from worker.dialects.parsing.lenient import AtEnd, Read, read_value
from worker.dialects.parsing.strings import Unreadable

_BEGINS = re.compile(r"[{\[]")
_TURNS = frozenset({Kind.OBSERVATION, Kind.WEAK_OBSERVATION, Kind.SPEAKER, Kind.QUESTION})
_MAX_TRIES = 12
_WRAPPERS = frozenset(
    {"tool_call", "tool_calls", "tool_calling", "action", "actions", "calls", "response", "answer", "function_call"}
    | {"output", "reply", "result"}
)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Found:
    """An object that counts, the prose before it, and its beginning and end."""

    value: JsonObject
    before: str
    begin: int
    end: int


def find_objects(text: str, kind: Callable[[JsonObject], str | None], *, finished: bool) -> list[Found] | str:
    """Returns the objects that count, in order; a reason if there are none, or if the first one cannot be read.

    `finished`: the model ended the reply itself, so brackets missing at its end were forgotten, not cut off.
    """
    found: list[Found] = []
    at, tries = 0, 0
    begin = _first_begin(text)
    while begin is not None and tries < _MAX_TRIES:
        read = _try(text, begin, finished=finished)
        if isinstance(read, Unreadable) and read.cut and not found:
            read = _unclosed_answer(text, begin, kind) or read
        if isinstance(read, Unreadable):
            if not found and (read.cut or _means_an_object(text, begin)):
                return f"The JSON cannot be read: {read}."
            at, tries = begin + 1, tries + 1
        else:
            before = text[:begin].strip().removesuffix("```json").rstrip("` \n") if not found else ""
            found += [Found(value, before, begin, read.end) for value in _objects(read.value, kind)]
            at = max(read.end, begin + 1)
            tries += 0 if found else 1
        if len(found) > _MAX_TRIES:
            break
        begin = match.start() if (match := _BEGINS.search(text, at)) else None
    return found or "The reply holds no JSON object of either form."


def real(text: str, found: list[Found]) -> list[Found]:
    """Returns the objects before the first invented observation or turn; none if an observation comes first."""
    limit = len(text)
    for label in find_labels(text):
        inside = any(item.begin <= label.start < item.end for item in found)
        if inside or (label.start < found[0].begin and label.kind is not Kind.OBSERVATION):
            continue
        if label.kind in _TURNS:
            limit = label.start
            break
    return [item for item in found if item.begin < limit]


def _first_begin(text: str) -> int | None:
    if text.startswith('"') and re.match(r'"\s*\{', text):
        return 0
    match = _BEGINS.search(text)
    return match.start() if match else None


def _try(text: str, begin: int, *, finished: bool) -> Read | Unreadable:
    try:
        return read_value(text, begin, AtEnd.CLOSE if finished else AtEnd.CLOSE_OUTER)
    except Unreadable as error:
        return error


def _means_an_object(text: str, begin: int) -> bool:
    """Whether unreadable text was meant as an object of the dialect, so that nothing inside it may count."""
    return re.match(r"\{\s*[\"'“]?\w+[\"'”]?\s*[:：]", text[begin : begin + 80]) is not None


def _objects(value: Any, kind: Callable[[JsonObject], str | None]) -> list[JsonObject]:
    if isinstance(value, str):
        inner = _try(value, 0, finished=False)
        return [] if isinstance(inner, Unreadable) or isinstance(inner.value, str) else _objects(inner.value, kind)
    if isinstance(value, list):
        return [item for part in value[:20] if isinstance(part, dict) for item in _objects(part, kind)]
    if not isinstance(value, dict):
        return []
    if kind(value) is not None:
        return [value]
    if len(value) == 1:
        key, inner_value = next(iter(value.items()))
        if key in _WRAPPERS and isinstance(inner_value, (dict, list)):
            return _objects(inner_value, kind)
    return []


def with_plain_keys(value: JsonObject) -> JsonObject:
    """Returns the object with keys in lower case and words joined by `_`, as the dialect's own keys are."""
    return {key.lower() if "_" in key else _HUMP.sub("_", key).lower(): inner for key, inner in value.items()}


def _unclosed_answer(text: str, begin: int, kind: Callable[[JsonObject], str | None]) -> Read | None:
    """Reads an answer whose text is complete and only lacks the closing brace: showing it does no harm."""
    try:
        read = read_value(text, begin, AtEnd.CLOSE)
    except Unreadable:
        return None
    return read if isinstance(read.value, dict) and kind(read.value) == "answer" else None
