"""Reads from a request's instructions which reply form is wanted and which tools exist."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from worker.practice.records import Param, ToolSpec

_TOOL_LINE = re.compile(r"^[-*][ \t]+`?([A-Za-z_][\w.-]*)`?\((.*)\)[ \t]*(.*)$", re.MULTILINE)
_QUOTED_OR_BRACKETED = re.compile(r"\"[^\"]*\"|'[^']*'|\[[^\[\]]*\]|\{[^{}]*\}|\([^()]*\)")
_PARAM = re.compile(r"\s*(\w+)(\?)?\s*(?::([^=]*))?(=.*)?", re.DOTALL)


@lru_cache(maxsize=256)
def form_of(prompt: str) -> str:
    """Returns the name of the form that a system prompt asks for; `plain` if it asks for none."""
    if re.search(r'"type"\s*:\s*"tool_call"', prompt):
        return "json"
    if "Finish[" in prompt:
        return "react_call"
    if re.search(r"^\s*Action\s*:.*\[\[", prompt, re.MULTILINE):
        return "react_brackets"
    if "Action Input:" in prompt:
        return "react_text" if "Final Answer:" in prompt else "react_json"
    return "plain"


@lru_cache(maxsize=256)
def listed_tools(prompt: str) -> Mapping[str, ToolSpec]:
    """Reads tools from lines such as `- name(city: string, days: integer = 1)`."""
    return {
        match[1]: ToolSpec(match[1], tuple(_params(match[2])), match[3].strip(" :-—"))
        for match in _TOOL_LINE.finditer(prompt)
    }


def _params(signature: str) -> Iterator[Param]:
    """Yields one parameter for each part between commas; commas within quotes or brackets separate nothing."""
    for part in _QUOTED_OR_BRACKETED.sub("…", signature).split(","):
        if match := _PARAM.fullmatch(part):
            name, mark, kind, default = match.groups()
            optional = mark or default or re.search(r"\b(?:optional|None|null)\b", kind or "")
            yield Param(name, (kind or "").strip() or "string", not optional)


def native_tools(tools: Sequence[Any]) -> dict[str, ToolSpec]:
    """Reads tools as the chat API lists them."""
    specs = {}
    for tool in tools:
        function = tool.get("function", {}) if isinstance(tool, dict) else {}
        if name := function.get("name"):
            params = tuple(_schema_params(function.get("parameters") or {}))
            specs[name] = ToolSpec(name, params, function.get("description", ""))
    return specs


def _schema_params(schema: Mapping[str, Any]) -> Iterator[Param]:
    for name, spec in schema.get("properties", {}).items():
        yield Param(name, str(spec.get("type", "string")), name in schema.get("required", ()))
