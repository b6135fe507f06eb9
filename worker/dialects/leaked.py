"""Tool calls that an endpoint left as markup in the text: read where it stands alone, never where it is quoted."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

from worker.core.records import ToolRequest, ToolView
from worker.dialects.fences import closed_fences, unwrap_whole, within
from worker.dialects.lenient import read_value
from worker.dialects.names import find_tool
from worker.dialects.native_calls import read_call
from worker.dialects.strings import Unreadable

Leaked = tuple[tuple[ToolRequest, ...], str]
_TAG = re.compile(r"(?<![^\n])[ \t]{0,8}<(tool_call|function_call|tool|tools)>\s*(?=[{\[])")
_FUNCTION = re.compile(r"(?<![^\n])[ \t]{0,8}<function=([\w.\-]{1,64})>\s*(?=\{)")
_MARKED = re.compile(
    r"(?<![^\n])[ \t]{0,8}(?:\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_call\|>|<tool_calls>)\s*(?=[{\[])"
)
_OTHER = re.compile(
    r"(?<![^\n])[ \t]{0,8}(?:<[|｜]tool[▁_]calls?[▁_a-z]{0,24}[|｜]>|<tool_call>|<function=|<function_calls>|<invoke\b|"
    r"\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_call\|>|<tools?>|<function_call>)"
)
_REACT = re.compile(r"(?<![^\n])[ \t*#]{0,6}Action(?: \d{1,2})?[ \t*]{0,4}[:：][ \t*]{0,4}(.{1,80})", re.I)
_REACT_INPUT = re.compile(r"(?<![^\n])[ \t*#]{0,6}Action Input[ \t*]{0,4}[:：]", re.I)
_NOT_PARSED = "The tool call stands in the text as markup, where it does nothing."


def leaked_calls(text: str, tools: Sequence[ToolView]) -> Leaked | str | None:
    """The calls and the text before them; a reason where a call was meant but cannot be read; None for plain text."""
    whole = _whole_object(text, tools)
    if whole is not None:
        return whole
    fences = closed_fences(text)
    for pattern in (_TAG, _FUNCTION, _MARKED):
        mark = next((found for found in pattern.finditer(text) if not within(fences, found.start())), None)
        if mark is not None:
            return _marked(text, mark, pattern, tools)
    if any(not within(fences, found.start()) for found in _OTHER.finditer(text)):
        return _NOT_PARSED
    return _labelled(text, fences, tools)


def _labelled(text: str, fences: list[tuple[int, int]], tools: Sequence[ToolView]) -> str | None:
    """A call in the labels of a text dialect, which this one does not run."""
    inputs = [found.start() for found in _REACT_INPUT.finditer(text)]
    for found in islice(_REACT.finditer(text), 20):
        named = find_tool(found.group(1).strip(), tools)
        known = named is not None and named.tool is not None
        if known and not within(fences, found.start()) and inputs and inputs[-1] > found.end():
            return _NOT_PARSED
    return None


def _whole_object(text: str, tools: Sequence[ToolView]) -> Leaked | str | None:
    """A text that is one JSON object with a known tool's name and an object of arguments."""
    body = unwrap_whole(text)
    if not body.startswith(("{", "[")):
        return None
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    items = value if isinstance(value, list) else [value]
    calls = [_item(item, tools) for item in items]
    if not calls or any(call is None for call in calls):
        return None
    return _joined([call for call in calls if call is not None], "")


def _item(item: Any, tools: Sequence[ToolView]) -> ToolRequest | str | None:
    """A call object; None where an object is something else."""
    if not isinstance(item, dict):
        return None
    body = item["function"] if isinstance(item.get("function"), dict) else item
    name = body.get("name", body.get("tool_name"))
    arguments = next((body[key] for key in ("arguments", "parameters", "tool_args") if key in body), None)
    if not isinstance(name, str) or not isinstance(arguments, (dict, str)):
        return None
    if set(body) - {"name", "tool_name", "arguments", "parameters", "tool_args", "type", "id"}:
        return None
    named = find_tool(name, tools)
    return read_call(name, arguments, tools) if named is not None and named.tool is not None else _NOT_PARSED


def _marked(text: str, mark: re.Match[str], pattern: re.Pattern[str], tools: Sequence[ToolView]) -> Leaked | str:
    calls: list[ToolRequest | str] = []
    found: re.Match[str] | None = mark
    while found is not None and len(calls) < 20:
        try:
            read = read_value(text, found.end())
        except Unreadable as error:
            return f"{_NOT_PARSED} It cannot be read: {error}."
        if pattern is _FUNCTION:
            calls.append(read_call(found.group(1), read.value, tools))
        else:
            items = read.value if isinstance(read.value, list) else [read.value]
            calls += [_item(item, tools) or _NOT_PARSED for item in items]
        found = pattern.search(text, read.end)
    return _joined(calls, text[: mark.start()].strip())


def _joined(calls: list[ToolRequest | str], thought: str) -> Leaked | str:
    reason = next((call for call in calls if isinstance(call, str)), None)
    if reason is not None:
        return reason
    requests = [call for call in calls if isinstance(call, ToolRequest)]
    numbered = tuple(ToolRequest(call.tool, call.args, f"call_{at}") for at, call in enumerate(requests, start=1))
    return numbered, thought
