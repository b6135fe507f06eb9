"""Finds out whether a mark is quoted, and so data: in a string on its line, in a fenced block, in backticks."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property, lru_cache

from worker.dialects.parsing.fences import find_fences

_TICKS = re.compile(r"`+")
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")


def line_around(text: str, start: int, end: int) -> tuple[str, str]:
    """Returns the text before `start` and after `end` on their line."""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    return text[line_start:start], text[end : line_end if line_end >= 0 else None]


def inside_string(text: str, start: int, end: int) -> bool:
    """Whether a double quote opens before `start` on its line and closes after `end`."""
    before, behind = line_around(text, start, end)
    opened = before.replace("\\\\", "").replace('\\"', "").count('"') % 2 == 1
    return opened and '"' in behind


class Quoted:
    """The closed fenced blocks of a text and its code spans in backticks; a code span ends before a blank line."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        """Computes the spans on first use: most texts are never asked about."""
        spans = [(fence.start, fence.end) for fence in find_fences(self._text) if fence.closed]
        return sorted(spans + _code_spans(self._text, spans)) if "`" in self._text else spans

    @cached_property
    def _starts(self) -> list[int]:
        return [start for start, _ in self._spans]

    def holds(self, position: int) -> bool:
        """Whether `position` is inside a span."""
        at = bisect_right(self._starts, position) - 1
        return at >= 0 and position < self._spans[at][1]

    def begins(self, position: int) -> bool:
        """Whether a span begins at `position`, or no span holds it."""
        return not self.holds(position) or position in self._starts


@lru_cache(maxsize=8)
def quoted_in(text: str) -> Quoted:
    """Returns the quoted spans of a text; cached, since one reply is examined several times."""
    return Quoted(text)


def _code_spans(text: str, fences: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns the spans from each run of backticks outside the fences to the next run of the same length."""
    outside = [0, *(end for _, end in fences)], [*(start for start, _ in fences), len(text)]
    runs = [run for start, end in zip(*outside, strict=True) for run in _TICKS.finditer(text, start, end)]
    blanks = [blank.start() for blank in _BLANK_LINE.finditer(text)]
    places: dict[int, list[int]] = {}
    for run in runs:
        places.setdefault(len(run.group()), []).append(run.start())
    spans: list[tuple[int, int]] = []
    end = 0
    for run in runs:
        if run.start() < end:
            continue
        same = places[len(run.group())]
        after = bisect_right(same, run.start())
        if after < len(same) and not _between(blanks, run.start(), same[after]):
            end = same[after] + len(run.group())
            spans.append((run.start(), end))
    return spans


def _between(places: list[int], start: int, end: int) -> bool:
    at = bisect_left(places, start)
    return at < len(places) and places[at] < end
