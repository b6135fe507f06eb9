"""Detects runs that repeat themselves, from their history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from worker.core.records import Turn

SAME_IN_A_ROW = 3
ALTERNATIONS = 3


def looping(turns: Sequence[Turn], calls: Sequence[tuple[str, Mapping[str, Any]]]) -> bool:
    """Returns whether these calls complete a loop: one call three times in a row, or two alternating three times."""
    marks = [_mark([(c.tool, c.args) for c in turn.calls]) for turn in turns]
    marks.append(_mark(calls))
    return _repeats(marks, 1, SAME_IN_A_ROW) or _repeats(marks, 2, ALTERNATIONS)


def _mark(calls: Sequence[tuple[str, Mapping[str, Any]]]) -> bytes:
    """Returns bytes that are equal for equal calls, in any order of arguments; empty if nothing was called."""
    if not calls:
        return b""
    return orjson.dumps([[tool, args] for tool, args in calls], option=orjson.OPT_SORT_KEYS)


def _repeats(marks: Sequence[bytes], period: int, times: int) -> bool:
    tail = list(marks[-period * times :])
    if len(tail) < period * times or b"" in tail:
        return False
    return all(tail[i] == tail[i % period] for i in range(len(tail)))
