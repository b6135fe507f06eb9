"""Parses JSON that a model wrote as text, if the schema leaves no other reading."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_PREFIX = "#/$defs/"
_DEPTH = 40
_KINDS = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_BY_TYPE: dict[type, str] = {
    str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object",
    type(None): "null",
}  # fmt: skip


def mended(value: Any, schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int = 0) -> Any:
    """Returns the value with such texts parsed; a text that the schema allows, or that does not fit, stays as it is."""
    schema = _resolved(schema, definitions)
    if depth > _DEPTH:
        return value
    if isinstance(value, str):
        read = _read(value, kinds(schema, definitions))
        return value if isinstance(read, str) else mended(read, schema, definitions, depth + 1)
    branch = _branch(value, schema, definitions)
    if isinstance(value, dict):
        known, others = branch.get("properties", {}), branch.get("additionalProperties")
        return {
            name: mended(item, known.get(name, others if isinstance(others, dict) else {}), definitions, depth + 1)
            for name, item in value.items()
        }
    if isinstance(value, list):
        first, rest = branch.get("prefixItems", []), branch.get("items")
        parts = [*first, *[rest if isinstance(rest, dict) else {}] * max(0, len(value) - len(first))]
        return [mended(item, part, definitions, depth + 1) for item, part in zip(value, parts, strict=False)] + value[
            len(parts) :
        ]
    return value


def kinds(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> frozenset[str]:
    """Returns the kinds of JSON that the schema allows; all of them if it does not say."""
    return _kinds(schema, definitions, 0)


def _kinds(schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> frozenset[str]:
    schema = _resolved(schema, definitions)
    choices = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if choices and depth < _DEPTH:
        return frozenset().union(*(_kinds(choice, definitions, depth + 1) for choice in choices))
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if values is not None:
        return frozenset(_BY_TYPE.get(type(value), "string") for value in values)
    named = schema.get("type")
    found = frozenset(named if isinstance(named, list) else [named]) & _KINDS
    return found or _KINDS


def _read(text: str, allowed: frozenset[str]) -> Any:
    """Returns the text parsed as JSON of an allowed kind; the text itself if it is none, or may be meant literally."""
    if "string" in allowed:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    kind = _BY_TYPE[type(value)]
    fits = kind in allowed or (kind == "integer" and "number" in allowed)
    return value if fits and kind != "null" else text


def _branch(value: Any, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a union's only branch for values of this kind; an empty schema if there are several."""
    choices = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if not choices:
        return schema
    kind = _BY_TYPE.get(type(value), "")
    fitting = [choice for choice in choices if kind in kinds(choice, definitions)]
    return _resolved(fitting[0], definitions) if len(fitting) == 1 else {}


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    for _ in range(_DEPTH):
        if not isinstance(schema, Mapping) or "$ref" not in schema:
            break
        schema = definitions.get(str(schema["$ref"]).removeprefix(_PREFIX), {})
    return schema if isinstance(schema, Mapping) else {}
