"""Tool calls that an endpoint left as markup in the text: read where it stands alone, never where it is quoted."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

from worker.core.records import ToolRequest, ToolView
from worker.dialects.fences import closed_fences, unwrap_whole, within
from worker.dialects.labels import find_labels
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
    r"\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_call\|>|<tools?>|<function_call>|<[|｜]DSML[|｜]|<start_function_call>|"
    r"<[\w\-]{0,20}[:_]tool_calls?>|<TOOLCALL>|<function\s+name=|<tool_use>|(?:assistant)?commentary to=\w)"
    r"|assistantcommentary to=\w"
)
_CALL_OBJECT = re.compile(r"\{\s*\"(?:name|function|type|tool_name|id)\"")
_BETWEEN = re.compile(r"(?:[\s,;]|</?tool_call>|</?tools?>|</?function_call>)*")
_GOES_ON = re.compile(
    r"(?:\s|</?tool_calls?>|</?tools?>|</?function_call>|</function>|[\]`])*(?!<tool_response|<observation)[^\s<]"
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
    if _ends_in_call(text, tools) or _is_written_call(unwrap_whole(text), tools):
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
    """A text that is JSON objects of calls to known tools and nothing else."""
    body = unwrap_whole(text)
    if not body.startswith(("{", "[")):
        return None
    calls: list[ToolRequest | str] = []
    at = 0
    while at < len(body) and len(calls) < 20:
        read = _strict(body, at)
        found = [_item(item, tools) for item in (read[0] if isinstance(read[0], list) else [read[0]])] if read else []
        if read is None or not found or any(call is None for call in found):
            return _NOT_PARSED if calls else None
        calls += [call for call in found if call is not None]
        junk = _BETWEEN.match(body, read[1])
        at = junk.end() if junk else read[1]
    return _joined(calls, "")


def _strict(text: str, at: int) -> tuple[Any, int] | None:
    try:
        return json.JSONDecoder().raw_decode(text, at)
    except (ValueError, RecursionError):
        return None


def _ends_in_call(text: str, tools: Sequence[ToolView]) -> bool:
    """Whether the text ends in a call object that is not quoted as code inside a sentence."""
    end = len(text.rstrip("` \n\t"))
    for found in islice(_CALL_OBJECT.finditer(text), 20):
        read = _strict(text, found.start()) if text[found.start() - 1 : found.start()] != "`" else None
        if read is not None and read[1] == end and isinstance(_item(read[0], tools), ToolRequest):
            return True
    return False


def _is_written_call(body: str, tools: Sequence[ToolView]) -> bool:
    """Whether the text is nothing but `tool(…)`, as some models write a call."""
    written = re.fullmatch(r"(?:print\(|\[)?([\w.]{1,64})\([^\n]{0,2000}\)\]?", body.strip())
    named = find_tool(written.group(1), tools) if written else None
    return named is not None and named.tool is not None


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
        if found is None and _GOES_ON.match(text, read.end) and not find_labels(text[read.end :].lstrip()[:80]):
            return _NOT_PARSED  # prose around it: it may only be shown
    return _joined(calls, text[: mark.start()].strip())


def _joined(calls: list[ToolRequest | str], thought: str) -> Leaked | str:
    reason = next((call for call in calls if isinstance(call, str)), None)
    if reason is not None:
        return reason
    requests = [call for call in calls if isinstance(call, ToolRequest)]
    numbered = tuple(ToolRequest(call.tool, call.args, f"call_{at}") for at, call in enumerate(requests, start=1))
    return numbered, thought
