"""Describes tools for the model: a signature line, what the tool does, and each parameter with its type."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from worker.core.records import ToolView
from worker.dialects.parsing.binding import required

_DEPTH, _CHARS, _FIELDS = 5, 1200, 30


def list_tools(tools: Sequence[ToolView]) -> str:
    """Lists all tools, each beginning a line with `- name(parameter: type, …)`."""
    return "\n".join(_tool(tool) for tool in tools) if tools else "(none: answer from what you know)"


def type_text(schema: Any, definitions: Mapping[str, Any] | None = None) -> str:
    """Describes a JSON schema's type: `string`, `list of integer`, `"a" | "b"`, `{"x": integer, "y"?: string}`.

    A definition that contains itself is spelled out once, after its name. Nesting is reduced until the text fits.
    """
    for depth in (_DEPTH, 3, 2):
        text = _Types(definitions or {}).text(schema, depth)
        if len(text) <= _CHARS:
            return text
    return _Types(definitions or {}).text(schema, 1)[:_CHARS]


class _Types:
    """Remembers which definitions are already written."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._written: set[str] = set()

    def text(self, schema: Any, depth: int) -> str:
        if not isinstance(schema, Mapping) or not schema:
            return "any"
        if isinstance(schema.get("$ref"), str):
            return self._defined(schema["$ref"], depth)
        if "enum" in schema or "const" in schema:
            return " | ".join(json.dumps(one, ensure_ascii=False) for one in schema.get("enum", [schema.get("const")]))
        for key in ("anyOf", "oneOf"):
            if isinstance(schema.get(key), list):
                return " | ".join(dict.fromkeys(self.text(part, depth) for part in schema[key]))
        if isinstance(schema.get("allOf"), list) and len(schema["allOf"]) == 1:
            return self.text(schema["allOf"][0], depth)
        return self._plain(schema, depth)

    def _plain(self, schema: Mapping[str, Any], depth: int) -> str:
        kind = schema.get("type")
        if isinstance(kind, list):
            return " | ".join(str(part) for part in kind)
        if kind == "array":
            return self._list(schema, depth)
        if kind == "object":
            return self._object(schema, depth)
        form = f" ({schema['format']})" if kind == "string" and schema.get("format") else ""
        return f"{kind}{form}" if kind else "any"

    def _list(self, schema: Mapping[str, Any], depth: int) -> str:
        if isinstance(schema.get("prefixItems"), list):
            return "[" + ", ".join(self.text(part, depth) for part in schema["prefixItems"]) + "]"
        items = self.text(schema.get("items"), depth)
        return f"list of ({items})" if " | " in items and not items.startswith("{") else f"list of {items}"

    def _object(self, schema: Mapping[str, Any], depth: int) -> str:
        properties, others = schema.get("properties"), schema.get("additionalProperties")
        if isinstance(properties, Mapping) and properties:
            return self._fields(schema, properties, depth)
        if isinstance(others, Mapping) and others and depth > 0:
            return f"{{string: {self.text(others, depth - 1)}, …}}"
        return "object"

    def _fields(self, schema: Mapping[str, Any], properties: Mapping[str, Any], depth: int) -> str:
        if depth <= 0:
            return "object"
        needed = schema.get("required", ())
        fields = (
            f'"{name}"{"" if name in needed else "?"}: {self.text(part, depth - 1)}'
            for name, part in properties.items()
        )
        return "{" + ", ".join(fields) + "}"

    def _defined(self, reference: str, depth: int) -> str:
        key = reference.rpartition("/")[2]
        name = key.rpartition("__")[2]
        if key not in self._definitions:
            return "any"
        if key in self._written:
            return name
        self._written.add(key)
        text = self.text(self._definitions[key], depth)
        return f"{name} {text}" if depth > 0 and text.startswith("{") else text


def _tool(tool: ToolView) -> str:
    found = tool.parameters.get("properties")
    parameters: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    definitions = tool.parameters.get("$defs")
    definitions = definitions if isinstance(definitions, Mapping) else {}
    needed = set(required(tool))
    signature = ", ".join(
        f"{name}{'' if name in needed else '?'}: {type_text(schema, definitions)}"
        for name, schema in parameters.items()
    )
    lines = [f"- {tool.name}({signature})", *_indented(tool.description, "  ")]
    for name, schema in parameters.items():
        lines += _parameter(name, schema, name in needed)
    return "\n".join(lines)


def _parameter(name: str, schema: Any, needed: bool) -> list[str]:
    if not isinstance(schema, Mapping):
        return []
    facts = [str(schema["description"]).strip()] if schema.get("description") else []
    if "default" in schema and schema["default"] is not None:
        facts.append(f"Default {json.dumps(schema['default'], ensure_ascii=False)}.")
    elif not needed:
        facts.append("Optional.")
    if not facts:
        return _within(name, schema)
    first, *rest = _indented(" ".join(facts), "      ")
    return [f"    {name}: {first.strip()}", *rest, *_within(name, schema)]


def _within(name: str, schema: Mapping[str, Any]) -> list[str]:
    """Returns what the fields of an object, or of a list of objects, are for, if the schema says so."""
    inner = schema.get("items", schema) if schema.get("type") == "array" else schema
    fields = inner.get("properties") if isinstance(inner, Mapping) else None
    said = (
        (field, part["description"])
        for field, part in (fields.items() if isinstance(fields, Mapping) else ())
        if isinstance(part, Mapping) and part.get("description")
    )
    return [f"    {name}.{field}: {' '.join(str(text).split())}" for field, text in said][:_FIELDS]


def _indented(text: str, indent: str) -> list[str]:
    return [indent + line.rstrip() for line in text.strip().splitlines() if line.strip()]
