"""The JSON schema of a tool's arguments, reduced to what helps a model."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import PydanticJsonSchemaWarning

from tools.kit.errors import BadTool
from tools.kit.references import inlined


def schema_of(model: type[BaseModel], tool_name: str) -> dict[str, Any]:
    """Returns `{"type": "object", "properties": …, "required": […]}`; raises BadTool for types that are not JSON."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", PydanticJsonSchemaWarning)
            raw = model.model_json_schema(by_alias=True)
    except (PydanticInvalidForJsonSchema, PydanticJsonSchemaWarning) as error:
        raise BadTool(tool_name, f"its arguments have no JSON schema ({str(error).splitlines()[0]})") from error
    raw = inlined(raw)
    if raw.get("type") != "object":
        raise BadTool(tool_name, "its arguments are not a JSON object; take named parameters or one pydantic model")
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False, **_tidy(raw)}
    schema.pop("description", None)
    return schema


def text_parameter(schema: Mapping[str, Any]) -> str | None:
    """Returns the parameter for plain text: the only required string, else the only string; None if it is ambiguous."""
    strings = [
        name for name, part in schema["properties"].items() if part.get("type") == "string" and "enum" not in part
    ]
    required = [name for name in strings if name in schema["required"]]
    for candidates in (required, strings):
        if candidates:
            return candidates[0] if len(candidates) == 1 else None
    return None


def _tidy(part: Any) -> Any:
    """Drops pydantic's titles; makes `X or null, null by default` an optional X, since null counts as not given."""
    if isinstance(part, list):
        return [_tidy(item) for item in part]
    if not isinstance(part, dict):
        return part
    tidy = {key: _tidy(value) for key, value in part.items() if not (key == "title" and isinstance(value, str))}
    if "properties" in part:
        tidy["properties"] = {name: _tidy(value) for name, value in part["properties"].items()}
    return _without_null(tidy)


def _without_null(part: dict[str, Any]) -> dict[str, Any]:
    choices = part.get("anyOf")
    if not isinstance(choices, list) or part.get("default", ...) is not None:
        return part
    others = [choice for choice in choices if choice != {"type": "null"}]
    rest = {key: value for key, value in part.items() if key not in ("anyOf", "default")}
    return {**others[0], **rest} if len(others) == 1 else {"anyOf": others, **rest}


def describe_parameters(schema: Mapping[str, Any]) -> str:
    """Describes what is allowed in one line: `expression (string, required), digits (integer)`."""
    if not schema["properties"]:
        return "It takes no arguments."
    parts = [
        f"{name} ({type_words(part)}{', required' * (name in schema['required'])})"
        for name, part in schema["properties"].items()
    ]
    return f"Allowed arguments: {'; '.join(parts)}."


def type_words(part: Mapping[str, Any], depth: int = 3) -> str:
    """Describes a parameter's type for a sentence: `integer`, `one of "a", "b"`, `list of {"x": integer}`."""
    if "enum" in part or "const" in part:
        choices = part.get("enum", [part.get("const")])
        return "one of " + ", ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
    choices = part.get("anyOf", part.get("oneOf"))
    if choices:
        return " or ".join(dict.fromkeys(type_words(choice, depth) for choice in choices))
    if part.get("type") == "array":
        return f"list of {type_words(part.get('items', {}), depth)}"
    if part.get("properties") and depth:
        needed = part.get("required", ())
        words = (
            f'"{name}"{"" if name in needed else "?"}: {type_words(one, depth - 1)}'
            for name, one in part["properties"].items()
        )
        return f"{{{', '.join(words)}}}"
    return str(part.get("type", "object" if "$ref" in part else "any"))
