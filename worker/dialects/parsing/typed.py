"""Converts bare text to the types in a tool's schema, and checks arguments against them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from worker.core.records import JsonObject, ToolView
from worker.dialects.parsing.arguments import Refused
from worker.dialects.parsing.binding import properties, required

_LITERALS = {"True": True, "False": False, "None": None}
_TYPES: dict[str, type | tuple[type, ...]] = {
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def typed(written: str, tool: ToolView | None, key: str) -> Any:
    """Converts a value written as text to the type in the tool's schema; Refused if it does not fit."""
    text = written.removeprefix("\n").removesuffix("\n")
    kinds = _kinds(tool, key)
    if not kinds or "string" in kinds:
        return text
    try:
        value = _LITERALS[text.strip()] if text.strip() in _LITERALS else json.loads(text)
    except (ValueError, RecursionError):
        return Refused(f"{key} must be a {kinds[0]}.")
    fits = any(isinstance(value, _TYPES[kind]) for kind in kinds if kind in _TYPES)
    wrong = isinstance(value, bool) and "boolean" not in kinds
    return value if fits and not wrong else Refused(f"{key} must be a {kinds[0]}.")


def _kinds(tool: ToolView | None, key: str) -> list[str]:
    """Returns the types that the schema allows for a parameter; none if the schema does not say."""
    found = tool.parameters.get("properties") if tool else None
    schema = found.get(key) if isinstance(found, Mapping) else None
    if not isinstance(schema, Mapping):
        return []
    options = [schema, *(part for name in ("anyOf", "oneOf") for part in schema.get(name) or [])]
    kinds = [part.get("type") for part in options if isinstance(part, Mapping)]
    return [kind for given in kinds for kind in (given if isinstance(given, list) else [given]) if kind]


def valid(args: JsonObject | str, tool: ToolView) -> bool:
    """Whether arguments match the tool's schema: only its parameters, all required ones, each of its type.

    Text counts as the tool's text parameter. Only types and listed values are checked; the tool checks the rest.
    """
    given = {tool.text_parameter: args} if isinstance(args, str) and tool.text_parameter else args
    if isinstance(given, str) or not set(given) <= set(properties(tool)) or not set(required(tool)) <= set(given):
        return False
    return all(_of_its_type(value, tool, key) for key, value in given.items())


def _of_its_type(value: Any, tool: ToolView, key: str) -> bool:
    kinds = _kinds(tool, key)
    wanted = [_TYPES.get(kind, str) for kind in kinds]
    if isinstance(value, bool) and kinds and "boolean" not in kinds:
        return False
    schema = tool.parameters.get("properties", {}).get(key)
    listed = schema.get("enum") if isinstance(schema, Mapping) else None
    return (not wanted or any(isinstance(value, kind) for kind in wanted)) and (not listed or value in listed)
