"""Reads what follows `Action Input:`: JSON, a fenced program, or plain text."""

from __future__ import annotations

import re

from worker.core.records import ToolView
from worker.dialects.parsing.arguments import Given, Refused, as_arguments, nothing_given, parameters_of
from worker.dialects.parsing.binding import properties
from worker.dialects.parsing.fences import Fence, Strings, fence_at, within
from worker.dialects.parsing.labels import Kind, Labels
from worker.dialects.parsing.lenient import AtEnd, Read, read_value
from worker.dialects.parsing.page import AFTER_INPUT, Page, without_residue
from worker.dialects.parsing.strings import Unreadable
from worker.dialects.parsing.texts import text_input, trim

_ENDS_BLOCK = frozenset({Kind.OBSERVATION, Kind.THOUGHT, Kind.ANSWER})
_WORD_JSON = re.compile(r"(?:json|`)[ \t]*\n?[ \t]*(?=\{)", re.I)
_HAS_OBJECT = re.compile(r"[{｛]\s*[\"'“]|^\s*\(\s*[\"'“]")
_IN_LINE = re.compile(r"[\w)\]?.!][ \t]+(?:Observation|Final Answer|观察|最终答案)[:：][ \t]*\S")
_STATEMENT = re.compile(
    r"[ \t]*(?:#(?!#)|[a-z_]\w*: *(?:[\w.\[\], |]+=(?!=)|(?:int|str|float|bool|bytes|list|dict|set|tuple|[A-Z]\w*)\b"
    r"[\w.\[\], |]*$))",
    re.M,
)
_DATA_WORDS = ("json", "json5", "jsonc", "js", "javascript")


def json_input(page: Page, start: int, tool: ToolView | None) -> Given | Refused:
    """Reads an input that should be a JSON object; a program may be fenced, and a text tool may get text."""
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
    return _text_for_object(page, start, tool)


def plain_input(page: Page, start: int, tool: ToolView | None) -> Given | Refused:
    """Reads an input that should be plain text: up to the next label, without a fence around the whole."""
    fence = fence_at(page.text, start)
    program = tool is not None and tool.code_language is not None
    if fence is not None and (program or fence.language or _is_whole(page, fence)):
        return _fenced(page, fence, tool)
    value, end = _line_of(page, start, tool)
    return _told_apart(value, tool) or text_input(value, tool, end)


def bracketed_input(value: str, tool: ToolView | None, end: int) -> Given | Refused:
    """Reads the input between brackets: plain text, a fenced program, or the tool's own parameters as JSON."""
    fence = fence_at(value, 0)
    if fence is not None and fence.closed and not value[fence.end :].strip():
        inner = _fenced(Page(value, (), Labels([], len(value))), fence, tool)
        return inner if isinstance(inner, Refused) else Given(inner.args, end)
    return text_input(value, tool, end)


def _text_for_object(page: Page, start: int, tool: ToolView | None) -> Given | Refused:
    """Reads plain text where an object was asked for: valid for a text tool, unless the text holds an object."""
    value, end = _line_of(page, start, tool)
    if tool is not None and tool.text_parameter is None and trim(value):
        return Refused(f"The input of {tool.name} must be one JSON object with {parameters_of(tool)}.")
    if (tool is None or tool.code_language is None) and _HAS_OBJECT.search(value):
        return Refused("The input must be one JSON object and nothing else.")
    return _told_apart(value, tool) or text_input(value, tool, end)


def _told_apart(value: str, tool: ToolView | None) -> Refused | None:
    """Refuses a text with an unquoted label in one of its lines, since it is unclear where the text ends."""
    if (tool is not None and tool.code_language is not None) or not _IN_LINE.search(value):
        return None
    return Refused("A label stands inside the input. Write the input alone, or in quotes, and stop there.")


def _line_of(page: Page, start: int, tool: ToolView | None) -> tuple[str, int]:
    """Returns the text up to the next label, and where it ends; label words inside a program do not count."""
    program = tool is not None and tool.code_language is not None
    end = _program_end(page, start) if program else page.value_end(start)
    value = page.text[start:end]
    if end == len(page.text):
        value = without_residue(value)
    value = page.without_bold(start, value.rstrip())
    return value, start + len(value)


def _program_end(page: Page, start: int) -> int:
    """Finds the end of an unfenced program: the next label that is no string, comment or annotation in it."""
    strings = Strings(page.text, start)
    for label in page.labels.after(start):
        inside = within(page.fences, label.start) or strings.holds(label.start)
        if label.kind in AFTER_INPUT and not inside and not _STATEMENT.match(page.text, label.start):
            return label.start
    return len(page.text)


def _object_at(page: Page, begin: int, tool: ToolView | None) -> Given | Refused:
    read = _read(page, begin)
    if isinstance(read, Unreadable):
        advice = "Nothing was run." if read.cut else "Write one JSON object with double quotes."
        return Refused(f"The input is not valid JSON: {read}. {advice}")
    args = as_arguments(read.value, tool)
    return args if isinstance(args, Refused) else Given(args, read.end)


def _read(page: Page, begin: int) -> Read | Unreadable:
    """Reads the value; if it ends too early but a label shows that the model went on, closes the brackets."""
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
    """Reads an input that is one quoted string; None if more text follows it."""
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
    if not fence.closed and not _holds_json(fence, body, tool):
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
        return Refused(f"The input of {tool.name} must be one JSON object with {parameters_of(tool)}.")
    return Given(trim_block(body), end)


def trim_block(body: str) -> str:
    """Returns a program as it was written, without line breaks at its beginning and blanks at its end."""
    return body.strip() if "\n" not in body.strip() else re.sub(r"^(?:[ \t\r]*\n)+", "", body).rstrip()


def _holds_json(fence: Fence, body: str, tool: ToolView | None) -> bool:
    if not body.strip().startswith(("{", "[")):
        return False
    if tool is None or tool.code_language is None:
        return fence.language in (*_DATA_WORDS, "") or tool is None or tool.text_parameter is None
    if fence.language in _DATA_WORDS:
        return True
    return fence.language == "" and _is_own(body.strip(), tool)


def _is_whole(page: Page, fence: Fence) -> bool:
    """Whether only blanks are between the fence and the next label."""
    return not page.text[fence.end : page.value_end(fence.end)].strip()


def _skip_blanks(text: str, start: int) -> int:
    while start < len(text) and (text[start].isspace() or text[start] in "\u200b\ufeff\u2060"):
        start += 1
    return start


def _is_own(body: str, tool: ToolView) -> bool:
    """Whether a block is a JSON object with the tool's own parameters, and so not a program."""
    try:
        read = read_value(body)
    except Unreadable:
        return False
    known = set(properties(tool))
    return isinstance(read.value, dict) and bool(read.value) and set(read.value) <= known and read.end == len(body)
