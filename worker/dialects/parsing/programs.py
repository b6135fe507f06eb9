"""Finds calls written as code: `tool(parameter="value")`, alone, at a text's end or in a block meant to run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from worker.core.records import ToolRequest, ToolView
from worker.dialects.parsing.arguments import Given
from worker.dialects.parsing.binding import properties
from worker.dialects.parsing.calls import read_call
from worker.dialects.parsing.named_objects import json_at, takes
from worker.dialects.parsing.names import says_final
from worker.dialects.parsing.quoting import Quoted, quoted_in
from worker.dialects.parsing.typed import valid

_SHOWN_RESULT = re.compile(r"(?:\s*print\(\w{1,40}\))?\W*")
_BEFORE_CALL = re.compile(
    r"\W{0,8}(?:\w{1,40}(?:\s?=\s?|[\"']?\s?[:：]\s?[\"']?))?(?:await\s)?(?:print\()?[\w.]{1,64}\("
)
_BLOCK = re.compile(
    r"(?:^|\n)[ \t]*(?:<(?P<tag>[a-z_]{2,20})>[ \t]*\n(?P<held>.{1,4000}?)\n[ \t]*</(?P=tag)>"
    r"|(?P<label>(?:Code|Action|Tool):?[ \t]*\n?)?```\w{0,12}\n(?P<fenced>.{1,4000}?)\n```(?P<end>(?=[ \t]*<end_))?)"
    r"\s*(?:<end_\w{1,20}>|<[|｜][^<>\n]{1,40}>)?\s*$",
    re.S,
)
_THINKS = re.compile(r"\W{0,8}(?:Thoughts?|Reasoning):")
_FINAL_CALL = re.compile(r"\s*(?:return\s|print\()?(\w{1,40})\([\"'f]")
_MAX_BLOCK = 5000
_METHOD = r"(?:\.(?:run|call|invoke|execute))?"
_MAX_OPENED = 20
_MAX_WRITTEN = 3


def whole_written(text: str, tool: ToolView, tools: Sequence[ToolView]) -> ToolRequest | None:
    opening = re.match(rf"{re.escape(tool.name)}{_METHOD}(?:\(|\s?[:=>]{{0,2}}\s{{0,2}}(?=\{{))", text)
    if opening is None:
        return None
    end, args = 0, None
    if opening.group().endswith("("):
        given = read_call(text, opening.end(), tool, tools, went_on=False)
        if isinstance(given, Given):
            end, args = given.end, given.args
    else:
        args, end = json_at(text, opening.end())
    if not isinstance(args, dict) or text[end:].strip("; \n"):
        return None
    return ToolRequest(tool.name, args) if valid(args, tool) else None


def last_written(text: str, quoted: Quoted, tools: Sequence[ToolView]) -> Iterator[int]:
    """Yields where the arguments begin of a known tool's call in code, `tool(key="value")`, that ends the text."""
    for tool, begin in _written(text, tools):
        given = None if quoted.holds(begin) else read_call(text, begin, tool, tools, went_on=False)
        if not isinstance(given, Given) or not _SHOWN_RESULT.fullmatch(text, given.end):
            continue
        text_alone = isinstance(given.args, str) and tool.text_parameter is not None
        if text_alone or takes(tool.name, given.args, tools):
            yield begin


def begins_line(text: str, begin: int) -> bool:
    """Whether a call comes first on its line, apart from marks and a variable for its result."""
    return _BEFORE_CALL.fullmatch(text, text.rfind("\n", 0, begin) + 1, begin) is not None


def _written(text: str, tools: Sequence[ToolView]) -> Iterator[tuple[ToolView, int]]:
    """Yields each known tool with the positions of its last calls by keyword or with a string."""
    for tool in tools:
        keys = "|".join(map(re.escape, properties(tool))) or "(?!)"
        opens = re.compile(rf"(?<![\w.]){re.escape(tool.name)}{_METHOD}\((?=\s{{0,40}}(?:(?:{keys})\s{{0,9}}=|[\"']))")
        for found in list(islice(opens.finditer(text), _MAX_OPENED))[-_MAX_WRITTEN:]:
            yield tool, found.end()


def in_block(text: str, tools: Sequence[ToolView]) -> bool:
    """Whether the text ends in a program that calls a tool and was meant to run: in `<code>`, or in a marked fence.

    A fence alone only shows a program; after a thought and a label, or before `<end_code>`, it was meant to run.
    """
    block = _BLOCK.search(text, max(0, len(text) - _MAX_BLOCK))
    if block is None:
        return False
    to_run = block.group("end") is not None or (block.group("label") and _THINKS.match(text))
    program = block.group("held") or (block.group("fenced") if to_run else "")
    final = _FINAL_CALL.match(program)
    if final is not None and says_final(final.group(1), tools):
        return True
    return any(True for _ in last_written(program, quoted_in(program), tools))
