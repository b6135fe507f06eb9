"""Tool calls that a model or endpoint left in the text: read where they leave no doubt, never shown as an answer."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from worker.core.records import ToolRequest, ToolView
from worker.dialects.binding import properties
from worker.dialects.call_formats import MAX_CALLS, NOT_PARSED, call_at, call_object
from worker.dialects.call_markup import Mark, mark_at, markup_start
from worker.dialects.fences import closed_fences, unwrap_whole, within
from worker.dialects.labels import find_labels
from worker.dialects.names import find_tool
from worker.dialects.quoting import quoted_in
from worker.dialects.tidy import trim_tokens

MARKUP = "tool call markup in the text"
"""What is said to be dropped where a call was read from it."""
_BEGINS_OBJECT = re.compile(
    r"\{\s*\"(?:name|function|type|tool_name|tool|action|id|tool_calls|function_call|content|role)\"\s*:"
)
_CUT_OBJECT = re.compile(r"\{\s*\"(?:name|tool_name)\"\s*:\s*\"([\w.\-]{1,64})\"\s*,\s*\"(?:arg|param|tool_a)")
_BETWEEN = re.compile(r"(?:```\w*|[\s,;`])+")
_INVENTED = re.compile(
    r"</?(?:tool_|function_)?(?:response|results?|outputs?|observation)\b|"
    r"<[|｜](?:(?:observation|tool|user|tool_(?:response|result|output)s?)[|｜]>|im_start|start_header|tool▁output)|"
    r"\[/?TOOL_RESULTS\]",
    re.I,
)
_EXPLAINS = re.compile(
    r"\b(?:for example|an example|example (?:of|call|tool)|examples?:|e\.g\.|for instance|looks? like|syntax|formats?|"
    r"templates?|written (?:as|like)|writes?|such as|emits?|prints?|produces?|would (?:be|write|send|call)|schema|docs|"
    r"documentation|zum beispiel|beispiel|z\.\s?b\.|so aus|par exemple|por ejemplo|per esempio)\b"
    r"|例如|比如|格式|形如|示例",
    re.I,
)
_REACT = re.compile(r"(?<![^\n])[ \t*#]{0,6}Action(?: \d{1,2})?[ \t*]{0,4}[:：][ \t*]{0,4}(.{1,80})", re.I)
_REACT_INPUT = re.compile(r"(?<![^\n])[ \t*#]{0,6}Action Input[ \t*]{0,4}[:：]", re.I)
_AROUND = re.compile(r"(?:<\|start\|>\s*assistant|<\|from\|>\s*assistant|<\|im_start\|>\s*assistant)?\s*$")
_NAME_KEYS = frozenset({"name", "tool", "tool_name", "function", "function_name", "action"})
_ARGS_KEYS = frozenset(
    {"arguments", "args", "parameters", "params", "input", "tool_input", "tool_args", "action_input"}
)
_TEXT_END = "` \n\t])"
_TO_OBJECT = r"[^\w{.,]{0,16}(?:(?:with|the|args|arguments|input|parameters|params|json)[^\w{]{0,16}){0,3}(?=\{)"
"""What may stand between a tool's name and its arguments: marks and the words for them, but no sentence."""
_LISTED_CALL = re.compile(r"\[[A-Za-z_][\w.]{0,63}\(\w{1,64}\s?=[^\n]{0,2000}\)\]")
_MAX_OBJECTS = 20
_MAX_PIECES = 200
"""More calls, tags and tokens than any reply has; the bound keeps a flood of them cheap."""


@dataclass(frozen=True, slots=True)
class Leaked:
    """Calls that were read from the text, the text before them, and where they stand."""

    calls: tuple[ToolRequest, ...]
    thought: str
    start: int
    end: int


def leaked_calls(text: str, tools: Sequence[ToolView]) -> Leaked | str | None:
    """The calls of a text; a reason where a call was meant but cannot be read; None for plain text.

    A call without markup counts where it is the whole text; elsewhere, and in the labels of a text dialect, it leaves
    doubt.
    """
    body = unwrap_whole(text)
    found = _whole(body, tools) or marked_calls(text, tools)
    if found is None and body is not text and markup_start(body, tools) == 0:
        found = NOT_PARSED if isinstance(marked_calls(body, tools), Leaked) else None
    doubtful = (holds_object, ends_in_call) if found is None else ()
    wholes = (_is_written_call, _is_other_object) if found is None else ()
    if any(holds(text, tools) for holds in doubtful) or any(holds(body, tools) for holds in wholes):
        return NOT_PARSED
    return _labelled(text, closed_fences(text), tools) if found is None else found


def marked_calls(text: str, tools: Sequence[ToolView]) -> Leaked | str | None:
    """The calls that stand in markup; a reason where one cannot be read; None for a text without markup."""
    start = markup_start(text, tools)
    return None if start is None else _read(text, start, tools)


def only_markup(text: str, start: int, end: int, tools: Sequence[ToolView]) -> bool:
    """Whether nothing but tags, tokens and blanks stands between two places."""
    names = frozenset(tool.name for tool in tools)
    while start < end:
        between = _BETWEEN.match(text, start, end) or mark_at(text, start, names)
        if between is None:
            return False
        start = _end(between)
    return True


def is_call(text: str, tools: Sequence[ToolView]) -> bool:
    """Whether a text is an object with a known tool's name and arguments, or ends in the name with its arguments."""
    if not text.startswith("{"):
        return ends_in_call(text, tools)
    value = _strict(text, 0)
    bare = isinstance(value, dict) and "name" in value and len(value) == 2
    return bare and isinstance(call_object(value, tools), ToolRequest)


def ends_in_call(text: str, tools: Sequence[ToolView]) -> bool:
    """Whether the text ends in a known tool's name and an object of its parameters, as in `Tool call: tool({…})`."""
    end = len(text.rstrip(_TEXT_END))
    if text[end - 1 : end] != "}":
        return False
    quoted = quoted_in(text)
    for tool in tools:
        for found in islice(re.finditer(rf"(?<!\w){re.escape(tool.name)}{_TO_OBJECT}", text, re.I), _MAX_OBJECTS):
            shown = quoted.holds(found.start()) and quoted.holds(found.end()) and "`" not in found.group()
            value = None if shown else _strict(text, found.end(), end)
            if isinstance(value, dict) and value and set(value) <= set(properties(tool)):
                return True
    return False


def holds_object(text: str, tools: Sequence[ToolView]) -> bool:
    """Whether an object stands in the text, or in a fence at its end, that is a known tool's call, whole or cut."""
    quoted = quoted_in(text)
    known = frozenset(tool.name for tool in tools)
    end = len(text.rstrip(_TEXT_END))
    for found in islice(_BEGINS_OBJECT.finditer(text), _MAX_OBJECTS):
        in_span = quoted.holds(found.start())
        read = _strict(text, found.start(), end) if in_span else _strict(text, found.start())
        if in_span and (read is None or text[found.start() - 1] == "`"):
            continue
        if any(isinstance(call_object(item, tools), ToolRequest) for item in _enveloped(read)):
            return True
        if _is_other_call(read, tools):
            return True
        cut = _CUT_OBJECT.match(text, found.start()) if read is None else None
        if cut is not None and cut.group(1) in known:
            return True
    return False


def _labelled(text: str, fences: list[tuple[int, int]], tools: Sequence[ToolView]) -> str | None:
    """A call in the labels of a text dialect, which this one does not run."""
    inputs = [found.start() for found in _REACT_INPUT.finditer(text)]
    for found in islice(_REACT.finditer(text), 20):
        named = find_tool(found.group(1).strip(), tools)
        known = named is not None and named.tool is not None
        if known and not within(fences, found.start()) and inputs and inputs[-1] > found.end():
            return NOT_PARSED
    return None


def _whole(body: str, tools: Sequence[ToolView]) -> Leaked | str | None:
    """A text that is objects of calls and nothing else."""
    value = _strict(body, 0) if body[:1] in ("{", "[") else None
    items = value if isinstance(value, list) else [value]
    found = [call_object(item, tools) for item in items]
    if value is None or not found or any(call is None for call in found):
        return None
    return _read(body, 0, tools)


def _is_other_object(body: str, tools: Sequence[ToolView]) -> bool:
    """Whether the text is one object that names a known tool and its arguments by the keys of another format."""
    return _is_other_call(_strict(body, 0, len(body)) if body.startswith("{") else None, tools)


def _is_other_call(value: Any, tools: Sequence[ToolView]) -> bool:
    if not isinstance(value, dict) or not set(value) <= _NAME_KEYS | _ARGS_KEYS | {"type", "id"}:
        return False
    names = [find_tool(value[key], tools) for key in _NAME_KEYS if isinstance(value.get(key), str)]
    known = any(named is not None and named.tool is not None for named in names)
    return known and any(isinstance(value.get(key), (dict, str)) for key in _ARGS_KEYS)


def _is_written_call(body: str, tools: Sequence[ToolView]) -> bool:
    """Whether the text is nothing but `tool(…)` or `tool{…}`, or `[name(key=…)]`, as some models write a call."""
    written = re.fullmatch(r"\W{0,8}(?:print\()?([\w.]{1,64})[({][^\n]{0,2000}[)}]\W{0,8}", body.strip())
    named = find_tool(written.group(1), tools) if written else None
    return (named is not None and named.tool is not None) or _LISTED_CALL.fullmatch(body.strip()) is not None


def _strict(text: str, at: int, end: int | None = None) -> Any:
    """The JSON value at `at`; None where there is none, or where it does not end at `end`."""
    try:
        value, ends = json.JSONDecoder().raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
    return value if end is None or ends == end else None


def _enveloped(value: Any) -> list[Any]:
    """The call objects of a chat message; else the value itself."""
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        return list(value["tool_calls"][:MAX_CALLS])
    if isinstance(value, dict) and isinstance(value.get("function_call"), dict):
        return [value["function_call"]]
    return [value]


def _read(text: str, start: int, tools: Sequence[ToolView]) -> Leaked | str:
    """All that stands from `start` on must be calls and their markup, or a result that the model invented."""
    calls: list[ToolRequest] = []
    names = frozenset(tool.name for tool in tools)
    at = start
    for _ in range(_MAX_PIECES):
        if at >= len(text) or len(calls) >= MAX_CALLS:
            break
        found = call_at(text, at, tools)
        if isinstance(found, str):
            return found
        between = None if found else _BETWEEN.match(text, at) or _junk(text, at, names)
        if found is None and between is None:
            break
        calls += found.calls if found else ()
        at = found.end if found else at if between is None else _end(between)
    rest = text[at:].lstrip()
    if not calls or (rest and not _INVENTED.match(rest) and not find_labels(rest[:80])):
        return NOT_PARSED
    begins = len(_AROUND.sub("", text[:start]))
    thought = trim_tokens(text[:begins])
    if _EXPLAINS.search(thought[-300:]):
        return f"{NOT_PARSED} If it is an example, put it in backticks or a fenced block."
    numbered = (ToolRequest(call.tool, call.args, f"call_{number}") for number, call in enumerate(calls, start=1))
    return Leaked(tuple(numbered), thought, begins, at)


def _junk(text: str, at: int, names: frozenset[str]) -> Mark | None:
    """Markup around calls, but no result that the model invented."""
    return None if _INVENTED.match(text, at) else mark_at(text, at, names)


def _end(between: Any) -> int:
    return int(between.end() if isinstance(between, re.Match) else between.end)
