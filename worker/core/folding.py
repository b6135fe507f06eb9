"""Folding: shortens the observations of a history that does not fit, older ones first, never the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from worker.core.records import Observed, Turn

BYTES_PER_TOKEN = 4
"""Typical of English text with the usual tokenizers; other languages, code and numbers have somewhat fewer."""

KEPT_CHARS = (2_000, 400, 80)
"""Characters left of an observation after the first, second and third folding."""


def fold(turns: Sequence[Turn], times: int) -> tuple[Turn, ...]:
    """Returns the turns with shortened observations; those of the last turn are shortened from the third time on."""
    if times <= 0:
        return tuple(turns)
    most = KEPT_CHARS[min(times, len(KEPT_CHARS)) - 1]
    untouched = 0 if times >= len(KEPT_CHARS) else 1
    edge = len(turns) - untouched
    return (*(_fold(turn, most) for turn in turns[:edge]), *turns[edge:])


def _fold(turn: Turn, most: int) -> Turn:
    return replace(turn, calls=tuple(_cut(call, most) for call in turn.calls))


def _cut(call: Observed, most: int) -> Observed:
    left_out = len(call.observation) - most
    if left_out <= 0:
        return call
    notice = f" … [{left_out} characters were left out here to make room]"
    return replace(call, observation=call.observation[:most] + notice)
