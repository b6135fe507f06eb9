"""Detects a reply that fell into a loop: the same few words, lines or signs over and over, up to its end."""

from __future__ import annotations

REPEATS_ITSELF = "The reply repeats the same words over and over up to its end. Write it anew, without repetition."
_LOOP_CHARS = 600
_MAX_UNIT_CHARS = 200
_MIN_TIMES = 25
_LAST_WORDS = 60
"""Characters that a model may still write after its loop."""
_ENDING = " \t\r\n.,;:!?…。，"
"""Characters that may follow a loop that stopped by itself."""


def repeats_itself(text: str) -> bool:
    """Whether the last 600 characters or more repeat one unit of up to 200 characters, 25 times or more.

    A repetition that a question asks for is shorter.
    """
    if len(text) < _LOOP_CHARS:
        return False
    return _loops(text.rstrip()) or _loops(text.rstrip(_ENDING)) or _loops(text[:-_LAST_WORDS])


def _loops(text: str) -> bool:
    """Whether the text's end repeats: shifted by the unit's length, it equals itself."""
    for unit in range(1, _MAX_UNIT_CHARS + 1):
        span = max(_LOOP_CHARS - unit, (_MIN_TIMES - 1) * unit)
        if span + unit > len(text):
            return False
        if text[-span:] == text[-span - unit : -unit]:
            return True
    return False
