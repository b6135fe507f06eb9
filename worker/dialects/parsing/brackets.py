"""Finds the bracket that closes an input or answer; refuses if more than one could."""

from __future__ import annotations

import re

_QUOTED = re.compile(
    r"\"\"\".*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\\n])*\"?|(?<![^\W_])'(?:\\.|[^'\\\n])*'?|[\[\]]",
    re.S,
)
_BRACKET = re.compile(r"[\[\]]")


class TwoReadings(ValueError):
    """More than one bracket could close what was opened."""


def closing(text: str, start: int, width: int) -> int | None:
    """Finds the `width` closing brackets that match what opened before `start`; None if nothing closes it.

    Raises TwoReadings if brackets in quotes, or unmatched ones further on, make another end as likely.
    """
    plain = _balanced(text, start, width, _BRACKET)
    aware = _balanced(text, start, width, _QUOTED)
    ends = {end for end in (plain, aware) if end is not None}
    sound = [end for end in ends if not _left_over(text[end + width :], width)]
    if len(sound) == 1:
        return sound[0]
    if not ends:
        return None
    raise TwoReadings("brackets")


def _balanced(text: str, start: int, width: int, tokens: re.Pattern[str]) -> int | None:
    depth = 0
    for token in tokens.finditer(text, start):
        if token.group() == "[":
            depth += 1
        elif token.group() != "]":
            if not _closed(token.group()):
                return None  # an apostrophe or a forgotten quote: quotes prove nothing here
        else:
            if depth:
                depth -= 1
            elif text.startswith("]" * width, token.start()):
                return token.start()
    return None


def _closed(string: str) -> bool:
    return len(string) > 1 and string[-1] == string[0]


def _left_over(rest: str, width: int) -> bool:
    """Whether the rest closes a bracket that it did not open."""
    depth = 0
    for token in re.finditer(r"\[" * width + "|" + r"\]" * width, rest):
        depth += 1 if token.group().startswith("[") else -1
        if depth < 0:
            return True
    return False
