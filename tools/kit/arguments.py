"""Checks arguments written by a model; errors say, in its terms, what was wrong and what is allowed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tools.kit.clean import clean
from tools.kit.errors import BadArguments
from tools.kit.mending import mended
from tools.kit.schema import describe_parameters

_SHOWN_CHARS = 60


def check(model: type[BaseModel], schema: Mapping[str, Any], tool: str, args: Mapping[str, Any]) -> BaseModel:
    """Returns the arguments as an instance of `model`; null for an optional parameter counts as not given."""
    if not isinstance(args, Mapping):
        raise BadArguments(
            f"{tool}: the arguments must be a JSON object, not {_shown(args)}. {describe_parameters(schema)}"
        )
    given = {name: clean(value) for name, value in args.items() if value is not None or name in schema["required"]}
    unknown = given.keys() - schema["properties"].keys() if schema.get("additionalProperties") is False else ()
    problems = [f"`{clean(name)}` is not an argument of it" for name in given if name in unknown]
    wanted = mended({name: value for name, value in given.items() if name not in unknown}, schema, _definitions(schema))
    try:
        checked = model.model_validate(wanted)
    except ValidationError as error:
        found = (_problem(detail) for detail in error.errors(include_url=False))
        raise BadArguments(_refusal(tool, [*found, *problems], schema)) from error
    if problems:
        raise BadArguments(_refusal(tool, problems, schema))
    return checked


def _definitions(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = schema.get("$defs", {})
    return found


def _refusal(tool: str, problems: Iterable[str], schema: Mapping[str, Any]) -> str:
    return f"{tool}: {'; '.join(dict.fromkeys(problems))}. {describe_parameters(schema)}"


def as_object(
    schema: Mapping[str, Any], text_parameter: str | None, tool: str, args: Mapping[str, Any] | str
) -> Mapping[str, Any]:
    """Puts plain text into the text parameter; empty text means no arguments if none is required."""
    if not isinstance(args, str):
        return args
    if not args.strip() and not schema["required"]:
        return {}
    if text_parameter is None:
        written = _object(args)
        if written is not None:
            return written
        example = json.dumps(dict.fromkeys(schema["properties"], "…"), ensure_ascii=False)
        raise BadArguments(
            f"{tool}: plain text cannot say which argument it is; write {example}. {describe_parameters(schema)}"
        )
    return {text_parameter: args}


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _problem(detail: ErrorDetails) -> str:
    path = ".".join(str(part) for part in detail["loc"] if not _is_branch(part)) or "the object"
    if detail["type"] == "missing":
        return f"`{path}` is missing"
    if detail["type"] == "extra_forbidden":
        return f"`{path}` is not known there"
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Input ").removesuffix(".")
    return f"`{path}` {message if message[:6] == 'should' else ': ' + message}, got {_shown(detail['input'])}".replace(
        "` :", "`:"
    )


def _is_branch(part: object) -> bool:
    """Whether a part of an error's path only names a branch of a union (`function-after[…]`): noise to a model."""
    return isinstance(part, str) and ("[" in part or part in {"str", "int", "float", "bool"})


def _shown(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    text = str(clean(text))
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"
