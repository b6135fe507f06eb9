"""Finds labels in mid-line: only if a known tool's call, or the answer after the last thought, makes them certain."""

from __future__ import annotations

import re
from collections.abc import Sequence

from worker.core.records import ToolView
from worker.dialects.parsing.labels import Kind, Label
from worker.dialects.parsing.names import find_tool, says_final

_CALL = re.compile(
    r"(?P<label>\b(?:Action|行动)[ \t]?[:：]\**)[ \t]*(?P<name>[^\s\[({（,;|]{1,70})"
    r"(?:[ \t,;|.。]{0,4}(?P<input>(?:\*\*)?(?:Action Input|行动输入)[ \t]?[:：]\**)|[ \t]?(?P<open>\[\[?|\())"
)
_LATER = re.compile(
    r"(?<=[ \t])(?:(?P<observation>Observation|观察)|(?P<answer>Final Answer|最终答案)|(?P<thought>Thought|思考))"
    r"[ \t]?[:：]"
)
_ANSWER = re.compile(r"(?<=[.!?。！？)])[ \t]{0,3}(?P<label>(?:Final Answer|Answer|最终答案)[ \t]?[:：])")
_HEADS = frozenset({Kind.THOUGHT, Kind.ACTION})


def inline_labels(text: str, tools: Sequence[ToolView], labels: list[Label]) -> list[Label]:
    """Returns the labels of `labels` that begin a line and those in mid-line, in order."""
    found = list(labels)
    for index, label in enumerate(labels):
        if label.kind not in _HEADS:
            continue
        line_end = _line_end(text, label.end)
        following = labels[index + 1] if index + 1 < len(labels) else None
        found += _call_in_line(text, tools, label, line_end, following)
        if label.kind is Kind.THOUGHT and not any(later.kind in _HEADS for later in labels[index + 1 : index + 50]):
            found += _answer_in_line(text, label, line_end)
    return sorted(found, key=lambda label: label.start)


def _call_in_line(
    text: str, tools: Sequence[ToolView], head: Label, line_end: int, following: Label | None
) -> list[Label]:
    begin = head.end if head.kind is Kind.THOUGHT else head.start
    call = _CALL.search(text, begin, line_end)
    if call is None or text[call.start() - 1 : call.start()] in ("`", '"', "'", "“"):
        return []
    named = find_tool(call.group("name"), tools)
    known = named is not None and named.tool is not None
    if not known and not (call.group("open") and says_final(call.group("name"), tools)):
        return []
    if head.kind is Kind.THOUGHT and following is not None and following.kind in (Kind.ACTION, Kind.INPUT):
        return []  # the thought only mentions it; the action itself follows
    found = [Label(Kind.ACTION, call.start("label"), call.end("label"), "", inline=True)]
    if head.kind is Kind.ACTION and call.end("label") <= head.end:
        found = []
    if call.group("input"):
        found.append(Label(Kind.INPUT, call.start("input"), call.end("input"), "", inline=True))
    elif not found:
        return []
    return found + [_later(match) for match in _LATER.finditer(text, call.end(), line_end)]


def _later(match: re.Match[str]) -> Label:
    kind = next(kind for kind in (Kind.OBSERVATION, Kind.ANSWER, Kind.THOUGHT) if match.group(kind.value))
    return Label(kind, match.start(), match.end(), "", inline=True)


def _answer_in_line(text: str, thought: Label, line_end: int) -> list[Label]:
    found = list(_ANSWER.finditer(text, thought.end, line_end))
    if len(found) != 1:
        return []
    return [Label(Kind.ANSWER, found[0].start("label"), found[0].end("label"), "", inline=True)]


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end
