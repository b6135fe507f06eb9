"""Reads what stands behind `Action Input:`: JSON, a fenced program, or plain text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from worker.core.records import JsonObject, ToolView
from worker.dialects.binding import needs_input, properties
from worker.dialects.fences import Fence, fence_at
from worker.dialects.labels import Kind, Labels
from worker.dialects.lenient import AtEnd, Read, read_value
from worker.dialects.page import Page, without_residue
from worker.dialects.strings import Unreadable

_NOTHING = frozenset({"", "none", "null", "n/a", "{}", "()", "[]", "nil", "no input", "-", "无", "(none)", "(empty)"})
_META = re.compile(
    r"\n\s*\n\s*(?:\(|\[|\*|i(?:'ll| will|'m| am)? |let me|let's|this (?:will|should)|now |once |wait|please wait|"
    r"note:|then )",
    re.I,
)
_ENDS_BLOCK = frozenset({Kind.OBSERVATION, Kind.THOUGHT, Kind.ANSWER})
_WORD_JSON = re.compile(r"(?:json|`)[ \t]*\n?[ \t]*(?=\{)", re.I)
_HAS_OBJECT = re.compile(r"\{\s*[\"'“]")
_DATA_WORDS = ("json", "json5", "jsonc", "js", "javascript")


@dataclass(frozen=True, slots=True)
class Given:
    """The arguments that a reply gives, and where they end."""

    args: JsonObject | str
    end: int


@dataclass(frozen=True, slots=True)
class Refused:
    """Why the input cannot be read, for the model."""

    reason: str


def json_input(page: Page, start: int, tool: ToolView | None) -> Given | Refused:
    """The input where the dialect asks for a JSON object; a program may be fenced, a text tool may get text."""
    fence = fence_at(page.text, start)
    if fence is not None:
        return _fenced(page, fence, tool)
    begin = _skip_blanks(page.text, start)
    if word := _WORD_JSON.match(page.text, begin):
        begin = word.end()
    if page.text[begin : begin + 1] in ("{", "["):
        return _object_at(page, begin, tool)
    if page.text[begin : begin + 1] in ('"', "'", "“"):
        quoted = _quoted(page, begin, tool)
        if quoted is not None:
            return quoted
    return plain_input(page, start, tool, needs_text_tool=True)


def plain_input(page: Page, start: int, tool: ToolView | None, *, needs_text_tool: bool = False) -> Given | Refused:
    """The input where the dialect asks for plain text: up to the next label; a fence around the whole is taken off."""
    fence = fence_at(page.text, start)
    if fence is not None and _is_whole(page, fence):
        return _fenced(page, fence, tool)
    end = page.value_end(start)
    value = page.text[start:end]
    if end == len(page.text):
        value = without_residue(value)
    text = unquoted(trim(value), tool)
    if text.lower() in _NOTHING:
        return nothing_given(tool, start + len(value.rstrip()))
    if needs_text_tool and tool is not None and tool.text_parameter is None:
        return Refused(f"The input of {tool.name} must be one JSON object with {_parameters(tool)}.")
    if needs_text_tool and (tool is None or tool.code_language is None) and _HAS_OBJECT.search(text):
        return Refused("The input must be one JSON object and nothing else.")
    if _looks_like_remark(text, tool):
        return Refused("Text follows the input. Write the input alone and stop there.")
    return Given(_as_object(text, tool) if not needs_text_tool else text, start + len(value.rstrip()))


def bracketed_input(value: str, tool: ToolView | None, end: int) -> Given | Refused:
    """The input between brackets: plain text, a fenced program, or the tool's own parameters as JSON."""
    fence = fence_at(value, 0)
    if fence is not None and fence.closed and not value[fence.end :].strip():
        inner = _fenced(Page(value, (), Labels([], len(value))), fence, tool)
        return inner if isinstance(inner, Refused) else Given(inner.args, end)
    text = unquoted(trim(value), tool)
    if text.lower() in _NOTHING:
        return nothing_given(tool, end)
    if tool is None or tool.text_parameter is not None:
        return Given(_as_object(text, tool), end)
    if not text.startswith("{"):
        return Refused(f"The input of {tool.name} must be one JSON object with {_parameters(tool)}.")
    inner = _object_at(Page(text, (), Labels([], len(text))), 0, tool)
    return inner if isinstance(inner, Refused) else Given(inner.args, end)


def unquoted(text: str, tool: ToolView | None) -> str:
    """A line without the quotes or backticks that stand around the whole of it; a program keeps its quotes."""
    if tool is not None and tool.code_language is not None:
        return text
    mark = text[:1]
    if len(text) > 2 and mark in "\"'`" and text[-1] == mark and mark not in text[1:-1] and "\n" not in text:
        return text[1:-1].strip()
    return text


def trim(value: str) -> str:
    """Blanks off the ends; where the value has several lines, the first one keeps its indentation."""
    if "\n" not in value.strip():
        return value.strip()
    return re.sub(r"^(?:[ \t\r\u00a0]*\n)+", "", value).rstrip() if not value[:1].strip() else value.rstrip()


def nothing_given(tool: ToolView | None, end: int) -> Given | Refused:
    """No input at all: fine for a tool that needs none."""
    if not needs_input(tool):
        return Given({}, end)
    name = tool.name if tool else "the tool"
    return Refused(
        f"The input of {name} is missing: it needs {_parameters(tool)}." if tool else "The input is missing."
    )


def as_arguments(value: Any, tool: ToolView | None) -> JsonObject | str | Refused:
    """A JSON value as arguments: an object, or one that was encoded twice or put in a list; text for a text tool."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        return value[0]
    if isinstance(value, str):
        return _from_string(value, tool)
    if isinstance(value, dict):
        return value
    return Refused(f"The input must be one JSON object, not {_kind(value)}.")


def _from_string(value: str, tool: ToolView | None) -> JsonObject | str | Refused:
    if value.lstrip().startswith("{"):
        try:
            inner = read_value(value)
        except Unreadable:
            inner = None
        if inner is not None and isinstance(inner.value, dict) and not value[inner.end :].strip():
            return inner.value
    if tool is not None and tool.text_parameter is None:
        return Refused(f"The input of {tool.name} must be one JSON object with {_parameters(tool)}, not a string.")
    return value


def _object_at(page: Page, begin: int, tool: ToolView | None) -> Given | Refused:
    read = _read(page, begin)
    if isinstance(read, Unreadable):
        advice = "Nothing was run." if read.cut else "Write one JSON object with double quotes."
        return Refused(f"The input is not valid JSON: {read}. {advice}")
    args = as_arguments(read.value, tool)
    return args if isinstance(args, Refused) else Given(args, read.end)


def _read(page: Page, begin: int) -> Read | Unreadable:
    """The value; where the text ends too early but a label shows that the writer went on, the brackets are closed."""
    try:
        return read_value(page.text, begin, AtEnd.CLOSE if page.finished else AtEnd.REFUSE)
    except Unreadable as error:
        end = page.value_end(begin)
        if end == len(page.text):
            return error
        try:
            return read_value(page.text[:end].rstrip(), begin, AtEnd.CLOSE)
        except Unreadable:
            return error


def _quoted(page: Page, begin: int, tool: ToolView | None) -> Given | Refused | None:
    """One quoted string that is the whole input; None where text goes on behind it."""
    try:
        read = read_value(page.text, begin)
    except Unreadable:
        return None
    line_end = page.text.find("\n", read.end)
    rest = page.text[read.end : line_end if line_end >= 0 else len(page.text)]
    if rest.strip(" \t\r`*.") or not isinstance(read.value, str):
        return None
    args = as_arguments(read.value, tool)
    return args if isinstance(args, Refused) else Given(args, read.end)


def _fenced(page: Page, fence: Fence, tool: ToolView | None) -> Given | Refused:
    body, end = fence.body(page.text), fence.end
    if not fence.closed:
        label = page.labels.next_start(fence.body_start, _ENDS_BLOCK)
        if label == len(page.text) and not page.finished:
            return Refused("The fenced block is not closed, so the input may have been cut off.")
        body, end = page.text[fence.body_start : label], label
    if _holds_json(fence, body, tool):
        inner = Page(body.strip(), page.tools, Labels([], len(body)), page.finished)
        found = _object_at(inner, 0, tool)
        return found if isinstance(found, Refused) else Given(found.args, end)
    if not body.strip():
        return nothing_given(tool, end)
    if tool is not None and tool.text_parameter is None:
        return Refused(f"The input of {tool.name} must be one JSON object with {_parameters(tool)}.")
    return Given(trim_block(body), end)


def trim_block(body: str) -> str:
    """A program as it was written: only line breaks at its beginning and blanks at its end are taken off."""
    return body.strip() if "\n" not in body.strip() else re.sub(r"^(?:[ \t\r]*\n)+", "", body).rstrip()


def _holds_json(fence: Fence, body: str, tool: ToolView | None) -> bool:
    if not body.strip().startswith(("{", "[")):
        return False
    if tool is None or tool.code_language is None:
        return fence.language in (*_DATA_WORDS, "") or tool is None or tool.text_parameter is None
    if fence.language in _DATA_WORDS:
        return True
    return fence.language == "" and isinstance(_as_object(body.strip(), tool), dict)


def _as_object(text: str, tool: ToolView | None) -> JsonObject | str:
    """Text that is itself a JSON object of the tool's own parameters is that object; all else stays text."""
    if not text.startswith("{") or tool is None:
        return text
    try:
        read = read_value(text)
    except Unreadable:
        return text
    if text[read.end :].strip() or not isinstance(read.value, dict) or not read.value:
        return text
    return read.value if set(read.value) <= set(properties(tool)) else text


def _is_whole(page: Page, fence: Fence) -> bool:
    """Whether nothing but blanks stands between the fence and the next label."""
    return not page.text[fence.end : page.value_end(fence.end)].strip()


def _looks_like_remark(text: str, tool: ToolView | None) -> bool:
    return (tool is None or tool.code_language is None) and _META.search(text) is not None


def _parameters(tool: ToolView | None) -> str:
    names = properties(tool) if tool else []
    return "the parameters " + ", ".join(names) if names else "its parameters"


def _kind(value: Any) -> str:
    return {list: "a list", bool: "a truth value", int: "a number", float: "a number"}.get(type(value), "null")


def _skip_blanks(text: str, start: int) -> int:
    while start < len(text) and (text[start].isspace() or text[start] in "\u200b\ufeff\u2060"):
        start += 1
    return start
