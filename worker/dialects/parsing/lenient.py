"""Reads JSON as models write it. Valid JSON is read as it is; anything else only if it has exactly one reading."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum
from typing import Any

from worker.dialects.parsing.strings import QUOTES, Unreadable, read_string

_LITERALS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_GAP = re.compile(r"(?:[\s\ufeff\u200b\u2060\u00a0]+|//[^\n]*|#[^\n]*|/\*.*?\*/)+", re.S)
_WORD = re.compile(r"[^\W\d][\w$\-]*")
_NUMBER = re.compile(r"[+-]?(?:0|[1-9][\d_]*)?(?:\.\d*)?(?:[eE][+-]?\d+)?")
_ESCAPED = re.compile(r"\{\s*\\\"")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_MAX_DEPTH = 100


class AtEnd(Enum):
    """What to do if the text ends before the last brackets were closed, after a complete value."""

    REFUSE = "the value may have been cut off"
    CLOSE_OUTER = "close the outermost bracket, if its last value is itself a closed bracket"
    CLOSE = "the writer went on to something else, so only the brackets are missing"


@dataclass(frozen=True, slots=True)
class Read:
    """A value, where it ended, and whether it had to be repaired."""

    value: Any
    end: int
    mended: bool = False


def read_value(text: str, start: int = 0, at_end: AtEnd = AtEnd.REFUSE) -> Read:
    """Reads the JSON value that begins at `start` (after blanks), whatever follows it. Raises Unreadable."""
    begin = _skip_blanks(text, start)
    try:
        found = _read(text, begin, at_end)
    except Unreadable:
        other = _escaped_or_doubled(text, begin)
        if other is None:
            raise
        found = other
    if _HALF.search(text, start, found.end):
        _refuse_half_characters(found.value)
    return found


def _escaped_or_doubled(text: str, begin: int) -> Read | None:
    """Reads an object with every quote escaped once too often, or with doubled braces; None for any other."""
    line_end = text.find("\n", begin)
    line = text[begin : line_end if line_end >= 0 else None]
    try:
        if _ESCAPED.match(line):
            inner = json.loads(f'"{line.rstrip()}"', strict=False)
            value, end = json.JSONDecoder(object_pairs_hook=_unique).raw_decode(inner)
            return Read(value, begin + len(line), mended=True) if not inner[end:].strip("} ") else None
        if line.startswith("{{") and (read := _read(text, begin + 1, AtEnd.REFUSE)) and text.startswith("}", read.end):
            return Read(read.value, read.end + 1, mended=True)
    except (ValueError, RecursionError):
        return None
    return None


def _read(text: str, begin: int, at_end: AtEnd) -> Read:
    strictly = () if text.startswith('"""', begin) else (True, False)
    for strict in strictly:
        try:
            value, end = json.JSONDecoder(
                strict=strict, object_pairs_hook=_unique, parse_constant=_no_constant
            ).raw_decode(text, begin)
        except json.JSONDecodeError:
            continue
        except RecursionError:
            raise Unreadable("it is nested too deeply") from None
        except Unreadable:
            raise
        except ValueError:
            raise Unreadable("a number is too long") from None
        return Read(value, end, mended=not strict)
    reader = _Reader(text, at_end)
    value, end = reader.value(reader.gap(begin), 0)
    return Read(value, end, mended=True)


def _refuse_half_characters(value: Any) -> None:
    """Refuses lone surrogates: they cannot be written as UTF-8, so nothing later could store them."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Unreadable("a \\u escape gives only half of a character") from None


def _skip_blanks(text: str, start: int) -> int:
    while start < len(text) and (text[start].isspace() or text[start] in "\ufeff\u200b\u2060"):
        start += 1
    return start


def _no_constant(name: str) -> Any:
    raise Unreadable(f"{name} is not a JSON value")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise Unreadable(f'the key "{key}" stands there twice with different values')
        found[key] = value
    return found


class _Reader:
    """A recursive reader that accepts the JSON that models write, and refuses whatever has two readings."""

    def __init__(self, text: str, at_end: AtEnd) -> None:
        self.text = text
        self.at_end = at_end

    def gap(self, at: int) -> int:
        found = _GAP.match(self.text, at)
        return found.end() if found else at

    def peek(self, at: int) -> str:
        return self.text[at : at + 1]

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        if depth > _MAX_DEPTH:
            raise Unreadable("it is nested too deeply")
        first = self.peek(at)
        if first == "":
            raise Unreadable("it ends before its value", cut=True)
        if first == "{":
            return self.object(at, depth)
        if first == "[":
            return self.array(at, depth)
        if first in QUOTES:
            return read_string(self.text, at)
        if first in "rR" and self.peek(at + 1) in ('"', "'"):
            return read_string(self.text, at + 1, raw=True)
        return self.scalar(at)

    def scalar(self, at: int) -> tuple[Any, int]:
        word = _WORD.match(self.text, at)
        if word is not None:
            if word.group() in _LITERALS:
                return _LITERALS[word.group()], word.end()
            raise Unreadable(f"{word.group()[:40]} stands there without quotes", cut=word.end() == len(self.text))
        number = _NUMBER.match(self.text, at)
        if number is None or not re.search(r"\d", number.group()):
            raise Unreadable(f"unexpected {self.text[at : at + 12]!r}")
        if number.end() == len(self.text):
            raise Unreadable("it ends in a number that may go on", cut=True)
        digits = number.group().replace("_", "").removeprefix("+")
        try:
            return (int(digits) if re.fullmatch(r"-?\d+", digits) else float(digits)), number.end()
        except ValueError:
            raise Unreadable("a number is too long") from None

    def object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        pairs: list[tuple[str, Any]] = []
        at = self.gap(at + 1)
        if self.peek(at) == "":
            raise Unreadable("it ends after its opening brace", cut=True)
        while self.peek(at) != "}":
            key, at = self.key(at)
            begin = at
            value, at = self.value(at, depth + 1)
            pairs.append((key, value))
            at = self.gap(at)
            if self.peek(at) == "":
                self.close_at_end(depth, self.peek(begin) in ("{", "["))
                return _unique(pairs), at
            at = self.separator(at, "}")
        return _unique(pairs), at + 1

    def array(self, at: int, depth: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        at = self.gap(at + 1)
        if self.peek(at) == "":
            raise Unreadable("it ends after its opening bracket", cut=True)
        while self.peek(at) != "]":
            begin = at
            value, at = self.value(at, depth + 1)
            items.append(value)
            at = self.gap(at)
            if self.peek(at) == "":
                self.close_at_end(depth, self.peek(begin) in ("{", "["))
                return items, at
            at = self.separator(at, "]")
        return items, at + 1

    def separator(self, at: int, closer: str) -> int:
        """Steps over a comma. Between two pairs of an object, a missing comma still leaves only one reading."""
        found = self.peek(at)
        if found in (",", "，"):
            at = self.gap(at + 1)
            if self.peek(at) == "":
                raise Unreadable("it ends after a comma", cut=True)
            return at
        if found == closer or (closer == "}" and self.is_key(at)):
            return at
        raise Unreadable(f"a comma or {closer} is missing before {self.text[at : at + 20]!r} (escape inner quotes)")

    def is_key(self, at: int) -> bool:
        if self.peek(at) != '"':
            return False
        try:
            _, end = read_string(self.text, at)
        except Unreadable:
            return False
        return self.peek(self.gap(end)) == ":"

    def close_at_end(self, depth: int, container: bool) -> None:
        allowed = self.at_end is AtEnd.CLOSE or (self.at_end is AtEnd.CLOSE_OUTER and depth == 0 and container)
        if not allowed:
            raise Unreadable("it ends before its closing bracket", cut=True)

    def key(self, at: int) -> tuple[str, int]:
        if self.peek(at) in QUOTES:
            key, at = read_string(self.text, at)
        else:
            word = _WORD.match(self.text, at)
            if word is None:
                raise Unreadable(f"a key was expected before {self.text[at : at + 12]!r}", cut=self.peek(at) == "")
            key, at = word.group(), word.end()
        at = self.gap(at)
        if self.peek(at) not in (":", "："):
            raise Unreadable(f'":" is missing after the key "{key[:40]}"', cut=self.peek(at) == "")
        return key, self.gap(at + 1)
