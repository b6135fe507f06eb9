"""Tells whether a mark stands inside a quoted string of its line, where it is data."""

from __future__ import annotations


def line_around(text: str, start: int, end: int) -> tuple[str, str]:
    """What stands before `start` and behind `end` on their line."""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    return text[line_start:start], text[end : line_end if line_end >= 0 else None]


def inside_string(text: str, start: int, end: int) -> bool:
    """Whether a double quote is open before `start` on its line and closes behind `end`."""
    before, behind = line_around(text, start, end)
    opened = before.replace("\\\\", "").replace('\\"', "").count('"') % 2 == 1
    return opened and '"' in behind
