"""Finds tool calls left in the text by a model or endpoint: reads the certain ones, never shows any as an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from worker.core.records import ToolRequest, ToolView
from worker.dialects.parsing.call_formats import MAX_CALLS, NOT_PARSED, call_at, call_object
from worker.dialects.parsing.call_markup import Mark, mark_at, markup_start
from worker.dialects.parsing.fences import unwrap_whole
from worker.dialects.parsing.labels import find_labels
from worker.dialects.parsing.named_objects import strict_json
from worker.dialects.parsing.tidy import trim_tokens
from worker.dialects.parsing.unmarked import holds_call, is_written_call, whole_calls

MARKUP = "tool call markup in the text"
"""How a reply's `dropped` names the markup from which a call was read."""
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
_AROUND = re.compile(r"(?:<\|start\|>\s*assistant|<\|from\|>\s*assistant|<\|im_start\|>\s*assistant)?\s*$")
_ACTION = re.compile(
    r"(?<![^\n])[*#_ ]{0,4}(?:Action|Tool calls?|Function calls?)\W{0,4}[:：]\W{0,3}?\s*(?=```|[\[{])", re.I
)
_MAX_PIECES = 200
"""More calls, tags and tokens than any reply has; bounds the work for a flood of them."""


@dataclass(frozen=True, slots=True)
class Leaked:
    """Calls read from the text, the text before them, and their position."""

    calls: tuple[ToolRequest, ...]
    thought: str
    start: int
    end: int


def leaked_calls(text: str, tools: Sequence[ToolView]) -> Leaked | str | None:
    """Returns the calls in a text; a reason if a call was meant but cannot be read; None for plain text.

    A call without markup counts only if it is the whole text: elsewhere, and among the labels of a text dialect,
    it is ambiguous.
    """
    body = unwrap_whole(text)
    found = _in_known_format(text, body, tools)
    if found is None and body is not text and markup_start(body, tools) == 0:
        found = NOT_PARSED if isinstance(marked_calls(body, tools), Leaked) else None
    if found is None and (labelled := _ACTION.search(text)) is not None:
        inner = unwrap_whole(text[labelled.end() :])
        found = NOT_PARSED if inner[:1] in ("{", "[") and _whole(inner, tools) is not None else None
    if found is None and (calls := whole_calls(body, tools, fenced=body is not text)):
        return Leaked(_numbered(calls), "", 0, len(text))
    if found is None and (holds_call(text, tools) or is_written_call(body, tools)):
        return NOT_PARSED
    return found


def is_of_known_format(text: str, tools: Sequence[ToolView]) -> bool:
    """Whether a text's calls are in a call format of a model's own, and can be read."""
    return isinstance(_in_known_format(text, unwrap_whole(text), tools), Leaked)


def _in_known_format(text: str, body: str, tools: Sequence[ToolView]) -> Leaked | str | None:
    return _whole(body, tools) or marked_calls(text, tools)


def marked_calls(text: str, tools: Sequence[ToolView]) -> Leaked | str | None:
    """Returns the calls in markup; a reason if one cannot be read; None for a text without markup."""
    start = markup_start(text, tools)
    return None if start is None else _read(text, start, tools)


def only_markup(text: str, start: int, end: int, tools: Sequence[ToolView]) -> bool:
    """Whether only tags, tokens and blanks are between two positions."""
    names = frozenset(tool.name for tool in tools)
    while start < end:
        between = _BETWEEN.match(text, start, end) or mark_at(text, start, names)
        if between is None:
            return False
        start = _end(between)
    return True


def _whole(body: str, tools: Sequence[ToolView]) -> Leaked | str | None:
    """Reads a text that consists of call objects and nothing else."""
    value = strict_json(body, 0) if body[:1] in ("{", "[") else None
    items = value if isinstance(value, list) else [value]
    found = [call_object(item, tools) for item in items]
    if value is None or not found or any(call is None for call in found):
        return None
    return _read(body, 0, tools)


def _read(text: str, start: int, tools: Sequence[ToolView]) -> Leaked | str:
    """Reads everything from `start` on, which must be calls and their markup, or a result that the model invented."""
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
    return Leaked(_numbered(calls), thought, begins, at)


def _numbered(calls: Sequence[ToolRequest]) -> tuple[ToolRequest, ...]:
    return tuple(ToolRequest(call.tool, call.args, f"call_{number}") for number, call in enumerate(calls, start=1))


def _junk(text: str, at: int, names: frozenset[str]) -> Mark | None:
    """Returns markup around calls, but not a result that the model invented."""
    return None if _INVENTED.match(text, at) else mark_at(text, at, names)


def _end(between: Any) -> int:
    return int(between.end() if isinstance(between, re.Match) else between.end)
