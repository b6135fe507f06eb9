"""Reads one quoted string of any usual kind and unescapes it once; refuses what has two readings."""

from __future__ import annotations

import json
import re

QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "`": "`", "„": "“", "＂": "＂"}
_SIMPLE = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "`": "`"}
_DRIVE = re.compile(r"(?:^|[\s\"'(])[A-Za-z]:$")


class Unreadable(ValueError):
    """The text is not JSON, or has two readings. `cut` if the text ended too early."""

    def __init__(self, reason: str, *, cut: bool = False) -> None:
        super().__init__(reason)
        self.cut = cut


def read_string(text: str, at: int, *, raw: bool = False) -> tuple[str, int]:
    """Returns the string that opens at `at` (single, double, triple, curly quotes) and its end. Raises Unreadable."""
    quote = text[at]
    triple = text.startswith(quote * 3, at) and quote in "\"'"
    closer = quote * 3 if triple else QUOTES[quote]
    return _string_body(text, at + (3 if triple else 1), closer, raw, single=quote == "'")


def _string_body(text: str, at: int, closer: str, raw: bool, *, single: bool) -> tuple[str, int]:
    stops = re.compile(r"\\|" + re.escape(closer))
    parts: list[str] = []
    known_marks, unknown = set[str](), False
    while (stop := stops.search(text, at)) is not None:
        parts.append(text[at : stop.start()])
        if stop.group() != "\\":
            if unknown and (known_marks & set("bf") or (known_marks and _DRIVE.search(parts[0]))):
                raise Unreadable("a backslash can be read in two ways: write it twice")
            return "".join(parts), stop.end()
        piece, at, known = _escape(text, stop.start(), raw, single)
        parts.append(piece)
        unknown = unknown or not known
        known_marks |= {text[stop.start() + 1 : stop.start() + 2]} if known and not raw else set()
    raise Unreadable("a string is not closed", cut=True)


def _escape(text: str, at: int, raw: bool, single: bool) -> tuple[str, int, bool]:
    """Returns what a backslash means, its end, and whether JSON knows the escape. Unknown escapes stay as they are."""
    mark = text[at + 1 : at + 2]
    if raw or mark == "":
        return text[at : at + 2], at + 2, True
    if mark in _SIMPLE:
        return _SIMPLE[mark], at + 2, True
    if mark == "\n":
        return text[at : at + 2], at + 2, False
    if mark == "u" and re.fullmatch(r"[0-9a-fA-F]{4}", text[at + 2 : at + 6]):
        return _unicode(text, at)
    if single and mark == "x" and re.fullmatch(r"[0-9a-fA-F]{2}", text[at + 2 : at + 4]):
        return chr(int(text[at + 2 : at + 4], 16)), at + 4, True
    return text[at : at + 2], at + 2, False


def _unicode(text: str, at: int) -> tuple[str, int, bool]:
    pair = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})").match(text, at)
    if pair:
        joined = json.loads(f'"{pair.group()}"')
        return str(joined), pair.end(), True
    return chr(int(text[at + 2 : at + 6], 16)), at + 6, True
