"""Writes tools as a model reads them: one line of signature, what the tool does, each parameter with its type."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from worker.core.records import ToolView
from worker.dialects.binding import required


def list_tools(tools: Sequence[ToolView]) -> str:
    """All tools, each beginning a line with `- name(parameter: type, …)`."""
    return "\n".join(_tool(tool) for tool in tools) if tools else "(none: answer from what you know)"


def type_text(schema: Any) -> str:
    """A JSON schema's type in a few words (`string`, `list of integer`, `"a" | "b"`)."""
    if not isinstance(schema, Mapping) or not schema:
        return "any"
    if "enum" in schema:
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"], ensure_ascii=False)
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list):
            return " | ".join(dict.fromkeys(type_text(part) for part in schema[key]))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(str(part) for part in kind)
    if kind == "array":
        return f"list of {type_text(schema.get('items'))}"
    if kind == "object" and isinstance(schema.get("properties"), Mapping) and schema["properties"]:
        return "{" + ", ".join(f'"{name}": {type_text(part)}' for name, part in schema["properties"].items()) + "}"
    return str(kind) if kind else "any"


def _tool(tool: ToolView) -> str:
    found = tool.parameters.get("properties")
    parameters: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    needed = set(required(tool))
    signature = ", ".join(
        f"{name}{'' if name in needed else '?'}: {type_text(schema)}" for name, schema in parameters.items()
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
        return []
    first, *rest = _indented(" ".join(facts), "      ")
    return [f"    {name}: {first.strip()}", *rest]


def _indented(text: str, indent: str) -> list[str]:
    return [indent + line.rstrip() for line in text.strip().splitlines() if line.strip()]
