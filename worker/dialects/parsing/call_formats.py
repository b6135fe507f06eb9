"""The formats in which models write tool calls unasked: how each opens, and which reader takes its arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from worker.core.records import JsonObject, ToolRequest, ToolView
from worker.dialects.parsing.arguments import Refused
from worker.dialects.parsing.binding import properties, required
from worker.dialects.parsing.calls import read_call as read_written
from worker.dialects.parsing.lenient import read_value
from worker.dialects.parsing.names import find_tool
from worker.dialects.parsing.native_calls import read_call
from worker.dialects.parsing.strings import Unreadable
from worker.dialects.parsing.typed import typed

NOT_PARSED = "The tool call stands in the text as markup, where it does nothing."
_NS = r"(?:\s{0,2}[|｜]\s{0,2}DSML\s{0,2}[|｜]\s{0,2})?(?:[A-Za-z]\w{0,19}:)?"
_GAP = r"(?:\s|\]<\]minimax\[>\[)*"
_NAMED = r"(?P<name>[\w.\-:/]{1,64})"
_SEP = r"(?:<[|｜]tool[\w▁ ]{1,40}[|｜]>|<tool_sep>|(?:\[CALL_ID\][\w\-]{1,40})?\[ARGS\])"
_PARAMETER = re.compile(
    rf"{_GAP}<{_NS}(?P<tag>parameter|param|arg)(?:\s*=\s*[\"']?|\s+name\s*=\s*[\"']?)(?P<key>[\w.\-]{{1,64}})[\"']?"
    r"(?P<rest>[^<>\n]{0,80})>"
)
_ELEMENT = re.compile(rf"{_GAP}<(?P<key>[A-Za-z_][\w\-]{{0,63}})>")
_VALUE_ENDS = r"(?:\]<\]minimax\[>\[)?</{ns}{tag}\s*>"
_TAG_ENDS = re.compile(rf"{_GAP}</{_NS}(?:function|invoke|tool_call|tool)\s*>")
_PAIR = re.compile(r"\s*<arg_key>\s*(?P<key>[^<>]{1,64}?)\s*</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>", re.S)
_PAIRS_END = re.compile(r"\s*</tool_call\s*>")
_WRITTEN = re.compile(r"(?:default_api\.|functions\.)?(?P<name>[A-Za-z_]\w{0,63})(?:\.call)?\(")
_QUOTED_VALUE = re.compile(r"<escape>(?P<a>.*?)<escape>|<\|\"\|>(?P<b>.*?)<\|\"\|>", re.S)
_OBJECT_KEYS = {"name", "tool_name", "arguments", "parameters", "tool_args", "type", "id", "tool_call_id", "index"}
MAX_CALLS = 20


@dataclass(frozen=True, slots=True)
class Found:
    """One call that was read, and where it ends."""

    calls: tuple[ToolRequest, ...]
    end: int


Reader = Callable[[str, "re.Match[str]", Sequence[ToolView]], Found | str | None]
"""Reads a call from its opening. Returns a reason if it cannot be read, None if it is in another format."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format: the models that use it, its opening up to the arguments, and the reader for the rest."""

    of: str
    opening: re.Pattern[str]
    read: Reader


def call_at(text: str, at: int, tools: Sequence[ToolView]) -> Found | str | None:
    """Returns the call that opens at `at`, by the first format that fits; None if none does."""
    for known in FORMATS:
        opening = known.opening.match(text, at)
        found = known.read(text, opening, tools) if opening else None
        if found is not None:
            return found
    return None


def call_object(item: Any, tools: Sequence[ToolView]) -> ToolRequest | str | None:
    """Returns the call in an object with a name and arguments; None for any other object."""
    if not isinstance(item, dict):
        return None
    body = item["function"] if isinstance(item.get("function"), dict) else item
    name = body.get("name", body.get("tool_name"))
    arguments = next((body[key] for key in ("arguments", "parameters", "tool_args") if key in body), None)
    if not isinstance(name, str) or not isinstance(arguments, (dict, str)):
        return None
    if set(body) - _OBJECT_KEYS:
        return None
    return _request(name, arguments, tools)


def _request(name: str, arguments: Any, tools: Sequence[ToolView]) -> ToolRequest | str:
    named = find_tool(name, tools)
    if named is None or named.tool is None:
        return f"{NOT_PARSED} There is no tool {name[:80]!r}."
    return _fitting(read_call(name, arguments, tools), named.tool)


def _fitting(request: ToolRequest | str, tool: ToolView) -> ToolRequest | str:
    """Returns the request if it has only parameters of the tool and all the required ones; else a reason."""
    if isinstance(request, str) or isinstance(request.args, str):
        return request
    known = properties(tool)
    other = [name for name in request.args if known and name not in known]
    missing = [name for name in required(tool) if name not in request.args]
    if other:
        return f"{NOT_PARSED} {tool.name} has no parameter {other[0][:80]!r}."
    return f"{NOT_PARSED} {tool.name} needs {missing[0]!r}." if missing else request


def _found(request: ToolRequest | str, end: int) -> Found | str:
    return request if isinstance(request, str) else Found((request,), end)


def _objects(text: str, opening: re.Match[str], tools: Sequence[ToolView]) -> Found | str | None:
    """Reads `{"name": …, "arguments": …}`, or a list of such objects."""
    try:
        read = read_value(text, opening.end())
    except Unreadable as error:
        return f"{NOT_PARSED} It cannot be read: {error}."
    items = read.value if isinstance(read.value, list) else [read.value]
    calls = [call_object(item, tools) or NOT_PARSED for item in items[:MAX_CALLS]]
    wrong = next((call for call in calls if isinstance(call, str)), None if calls else NOT_PARSED)
    return wrong or Found(tuple(call for call in calls if isinstance(call, ToolRequest)), read.end)


def _named_object(text: str, opening: re.Match[str], tools: Sequence[ToolView]) -> Found | str:
    """Reads a name, then its arguments as an object."""
    try:
        read = read_value(text, opening.end())
    except Unreadable as error:
        return f"{NOT_PARSED} It cannot be read: {error}."
    if not isinstance(read.value, dict):
        return NOT_PARSED
    return _found(_request(opening.group("name"), read.value, tools), read.end)


def _known_object(text: str, opening: re.Match[str], tools: Sequence[ToolView]) -> Found | str | None:
    """Like `_named_object`, but the word counts as a name only if it is a known tool or a separator follows."""
    named = find_tool(opening.group("name"), tools)
    told = opening.group("sep") or (named is not None and named.tool is not None)
    return _named_object(text, opening, tools) if told else None


def _tagged(text: str, opening: re.Match[str], tools: Sequence[ToolView]) -> Found | str:
    """Reads a tag that names the tool, then an object, or one element per parameter, which needs the closing tag."""
    if re.compile(rf"{_GAP}\{{").match(text, opening.end()):
        return _named_object(text, opening, tools)
    named = find_tool(opening.group("name"), tools)
    tool = named.tool if named else None
    given: JsonObject = {}
    at = opening.end()
    while (parameter := _parameter(text, at, tool)) is not None:
        key, value, at = parameter
        if key in given:
            return f"{NOT_PARSED} {key} is given twice."
        given[key] = value
    ends = _TAG_ENDS.match(text, at)
    return _closed(opening, given, ends, tools)


def _closed(
    opening: re.Match[str], given: JsonObject, ends: re.Match[str] | None, tools: Sequence[ToolView]
) -> Found | str:
    """Returns the call for values written as text, each converted to its parameter's type."""
    named = find_tool(opening.group("name"), tools)
    if ends is None:
        return f"{NOT_PARSED} It is not closed, or not written as its format wants."
    args: JsonObject = {}
    for key, written in given.items():
        value = typed(written, named.tool if named else None, key)
        if isinstance(value, Refused):
            return f"{NOT_PARSED} {value.reason}"
        args[key] = value
    return _found(_request(opening.group("name"), args, tools), ends.end())


def _parameter(text: str, at: int, tool: ToolView | None) -> tuple[str, str, int] | None:
    """Returns the name and text of the parameter at `at`, and where it ends."""
    begins = _PARAMETER.match(text, at)
    tag = begins.group("tag") if begins else ""
    if begins is None:
        begins = _ELEMENT.match(text, at)
        tag = begins.group("key") if begins else ""
        if begins is None or tool is None or tag not in properties(tool):
            return None
    ends = re.compile(_VALUE_ENDS.format(ns=_NS, tag=re.escape(tag))).search(text, begins.end())
    return (begins.group("key"), text[begins.end() : ends.start()], ends.end()) if ends else None


def _pairs(text: str, opening: re.Match[str], tools: Sequence[ToolView]) -> Found | str | None:
    """Reads a name, then alternating `<arg_key>` and `<arg_value>`, up to the closing tag."""
    given: JsonObject = {}
    at = opening.end()
    while (pair := _PAIR.match(text, at)) is not None:
        given[pair.group("key")] = pair.group("value")
        at = pair.end()
    return _closed(opening, given, _PAIRS_END.match(text, at), tools)


def _written(text: str, opening: re.Match[str], tools: Sequence[ToolView]) -> Found | str | None:
    """Reads `[tool(name="value"), …]`, `print(tool(…))` or `tool(…)`, for known tools only."""
    calls: list[ToolRequest] = []
    at = opening.end()
    while (begins := _WRITTEN.match(text, at)) is not None and len(calls) < MAX_CALLS:
        named = find_tool(begins.group("name"), tools)
        if named is None or named.tool is None:
            return NOT_PARSED if calls else None
        given = read_written(text, begins.end(), named.tool, tools, went_on=False)
        if isinstance(given, Refused):
            return f"{NOT_PARSED} {given.reason}"
        request = _fitting(ToolRequest(named.name, given.args), named.tool)
        if isinstance(request, str):
            return request
        calls.append(request)
        comma = re.compile(r"\s*[,;]\s*").match(text, given.end)
        at = comma.end() if comma else given.end
    closer = {"[": "]", "p": ")", "": ""}[opening.group()[:1]]
    ends = re.compile(rf"\s*{re.escape(closer)}").match(text, at)
    return Found(tuple(calls), ends.end()) if calls and ends else NOT_PARSED if opening.group() else None


def _braces(text: str, opening: re.Match[str], tools: Sequence[ToolView]) -> Found | str:
    """Reads a name, then `{key:value}` with strings between special tokens."""
    ends = text.find("<end_function_call>", opening.end())
    ends = ends if ends >= 0 else text.find("<tool_call|>", opening.end())
    body = text[opening.end() : ends if ends >= 0 else len(text)]
    quoted = _QUOTED_VALUE.sub(lambda found: json.dumps(found.group("a") or found.group("b") or ""), body)
    try:
        read = read_value(quoted)
    except Unreadable as error:
        return f"{NOT_PARSED} It cannot be read: {error}."
    if quoted[read.end :].strip() or not isinstance(read.value, dict):
        return NOT_PARSED
    return _found(_request(opening.group("name"), read.value, tools), opening.end() + len(body))


def _opening(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


FORMATS: tuple[Format, ...] = (
    Format(
        "Qwen3-Coder, Llama 3, Seed-OSS, Step, MiniMax, Anthropic, DeepSeek's DSML",
        _opening(
            rf"<{_NS}(?:(?:function|tool)\s*=\s*[\"']?|(?:function|invoke|tool_call|tool)\s+name\s*=\s*[\"']?)"
            rf"{_NAMED}[\"']?[^<>\n]{{0,80}}>"
        ),
        _tagged,
    ),
    Format(
        "gpt-oss (harmony)",
        _opening(
            r"(?:<\|start\|>\s*)?(?:assistant)?\s*(?:<\|channel\|>\s*)?(?:commentary|analysis)?\s*to="
            rf"{_NAMED}(?:<\|channel\|>)?[^<>{{\n]{{0,60}}(?:<\|constrain\|>\s*\w+\s*)?(?:<\|message\|>)?\s*(?=\{{)"
        ),
        _named_object,
    ),
    Format(
        "FunctionGemma, Gemma 4, Gemini",
        _opening(r"(?:call|declaration):(?:default_api[.:])?(?P<name>[\w.\-]{1,64})\s*(?=\{)"),
        _braces,
    ),
    Format(
        "Functionary",
        _opening(rf"(?:<\|from\|>\s*assistant\s*)?<\|recipient\|>\s*{_NAMED}\s*<\|content\|>\s*(?=\{{)"),
        _named_object,
    ),
    Format(
        "Kimi, DeepSeek V3 and V3.1, Mistral's [ARGS], ERNIE, and a name before an object",
        _opening(
            rf"(?:function\s*<[|｜]tool[▁_]sep[|｜]>\s*)?{_NAMED}\s*(?P<sep>{_SEP})?\s*(?:```(?:json)?\s*)?(?=\{{)"
        ),
        _known_object,
    ),
    Format(
        "GLM, Hunyuan",
        _opening(rf"{_NAMED}\s*(?:<tool_sep>\s*)?(?=<arg_key>|</tool_call\s*>)"),
        _pairs,
    ),
    Format(
        "Qwen, Hermes, Mistral, Llama 3.1, Phi-4, Granite, Nemotron, InternLM, Jamba, xLAM, Command R, Step",
        _opening(r"(?=\{|\[\s*\{)"),
        _objects,
    ),
    Format(
        "LFM2, Gemma's tool_code, Llama 4, Llama 3's ipython, Olmo 3",
        _opening(r"(?:\[\s*|print\(\s*)?(?=(?:default_api\.|functions\.)?[A-Za-z_]\w{0,63}(?:\.call)?\()"),
        _written,
    ),
)
"""In the order in which they are tried: the most specific opening first."""
