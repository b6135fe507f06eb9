"""Turns a value that was written as bare text into the type that the tool's schema wants."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from worker.core.records import ToolView
from worker.dialects.parsing.arguments import Refused

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
    """A value written as text, as the tool's schema wants it; Refused where it cannot be that."""
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
    """The types that the schema allows for a parameter; none where it does not say."""
    found = tool.parameters.get("properties") if tool else None
    schema = found.get(key) if isinstance(found, Mapping) else None
    if not isinstance(schema, Mapping):
        return []
    options = [schema, *(part for name in ("anyOf", "oneOf") for part in schema.get(name) or [])]
    kinds = [part.get("type") for part in options if isinstance(part, Mapping)]
    return [kind for given in kinds for kind in (given if isinstance(given, list) else [given]) if kind]
