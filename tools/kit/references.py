"""Replaces `$ref`s in a schema by their definitions; only definitions that contain themselves stay `$ref`s."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_PARTS = 2000
_PREFIX = "#/$defs/"


class _TooLarge(Exception):
    """Nested definitions multiplied beyond the limit."""


def inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the schema with references replaced; unchanged if it would be too large. Drops discriminators."""
    definitions: Mapping[str, Any] = schema.get("$defs", {})
    kept = {name for name in definitions if name in _reached(definitions, name)}
    body = {key: value for key, value in schema.items() if key != "$defs"}
    if str(body.get("$ref", "")).startswith(_PREFIX):
        body = {**definitions[_name(body)], **{key: value for key, value in body.items() if key != "$ref"}}
    inline = _Inline(definitions, kept)
    try:
        written = inline.part(body)
        left = {name: inline.part(definitions[name]) for name in sorted(_reached_from(definitions, body) & kept)}
    except _TooLarge:
        return {**body, "$defs": dict(definitions)}
    return {**written, "$defs": left} if left else dict(written)


class _Inline:
    def __init__(self, definitions: Mapping[str, Any], kept: set[str]) -> None:
        self._definitions = definitions
        self._kept = kept
        self._room = _PARTS

    def part(self, part: Any) -> Any:
        self._room -= 1
        if self._room < 0:
            raise _TooLarge
        if isinstance(part, list):
            return [self.part(item) for item in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part and _name(part) in self._definitions and _name(part) not in self._kept:
            beside = {key: value for key, value in part.items() if key != "$ref"}
            return self.part({**self._definitions[_name(part)], **beside})
        return {key: self.part(value) for key, value in part.items() if not _is_mapping(key, value)}


def _is_mapping(key: str, value: Any) -> bool:
    return key == "discriminator" and isinstance(value, dict) and "propertyName" in value


def _name(part: Mapping[str, Any]) -> str:
    return str(part["$ref"]).removeprefix(_PREFIX)


def _references(part: Any) -> Iterator[str]:
    waiting = [part]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if isinstance(one.get("$ref"), str):
                yield _name(one)
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


def _reached(definitions: Mapping[str, Any], name: str) -> set[str]:
    return _reached_from(definitions, definitions[name])


def _reached_from(definitions: Mapping[str, Any], part: Any) -> set[str]:
    found: set[str] = set()
    waiting = list(_references(part))
    while waiting:
        name = waiting.pop()
        if name in definitions and name not in found:
            found.add(name)
            waiting.extend(_references(definitions[name]))
    return found
