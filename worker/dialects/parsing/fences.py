"""Finds fenced blocks, so that their content is treated as data."""

from __future__ import annotations

import re
from dataclasses import dataclass

_OPENING = re.compile(r"(?:(?<![^\n\r])[ \t]{0,12}|[:：]\*{0,2}[ \t]{0,4})(`{3,12}|~{3,12})")
_BARE = re.compile(r"[ \t]*(`{3,12}|~{3,12})[ \t]*")
_NESTED = re.compile(r"[ \t]*(?:`{3,12}|~{3,12})[A-Za-z][^\s`]{0,20}[ \t]*")
_TRIPLE = re.compile(r"\\.|#[^\n]*|\"\"\"|'''|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?", re.S)
_TRIPLES = ('"""', "'''")
_MAX_FENCES = 60
"""More fenced blocks than any reply has; bounds the work for a flood of marks."""
_CODE = frozenset({"python", "py", "python3"})


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block of `text`: its whole span, its body's span, and the word after the opening marks."""

    start: int
    end: int
    body_start: int
    body_end: int
    language: str
    closed: bool = True

    def body(self, text: str) -> str:
        return text[self.body_start : self.body_end]


def fence_at(text: str, start: int) -> Fence | None:
    """Returns the fenced block that begins at `start` (after blanks); None if there is none."""
    opening = re.compile(r"\s*(`{3,12}|~{3,12})[ \t]*").match(text, start)
    if opening is None:
        return None
    marks = opening.group(1)
    line_end = _line_end(text, opening.end())
    if marks in text[opening.end() : line_end]:
        return _one_line(text, opening.start(1), opening.end(), marks)
    language = text[opening.end() : line_end].strip()
    if language and not re.fullmatch(r"[\w+#.\-]{1,20}", language):
        # The body begins on the line of the marks: ```{"city": … or ```json {"city": …
        word = re.compile(r"(?:json|python3?|py|sql)\b[ \t]*", re.I).match(text, opening.end())
        body_start = word.end() if word else opening.end()
        language = word.group().strip() if word else ""
        return _closing(text, opening.start(1), body_start, marks, language.lower())
    return _closing(text, opening.start(1), min(line_end + 1, len(text)), marks, language.lower())


def find_fences(text: str, start: int = 0) -> list[Fence]:
    """Returns the fenced blocks that begin a line or follow a colon; an unclosed one runs to the end."""
    found: list[Fence] = []
    opening = _OPENING.search(text, start)
    while opening is not None and len(found) < _MAX_FENCES:
        fence = fence_at(text, opening.start(1))
        end = fence.end if fence else opening.end()
        found += [fence] if fence else []
        opening = _OPENING.search(text, max(end, opening.end()))
    return found


def closed_fences(text: str, start: int = 0) -> list[tuple[int, int]]:
    """Returns the spans of the closed blocks of `find_fences`."""
    return [(fence.start, fence.end) for fence in find_fences(text, start)]


def within(spans: list[tuple[int, int]], position: int) -> bool:
    """Whether `position` lies inside one of the spans."""
    return any(start <= position < end for start, end in spans)


def in_triple_quotes(text: str, position: int) -> bool:
    """Whether a position in a program is inside a triple-quoted string."""
    return Strings(text, 0).holds(position)


def unwrap_whole(text: str) -> str:
    """Returns the block's body if the whole text is one fenced block; else the text."""
    if not text.startswith(("```", "~~~")):
        return text
    fence = fence_at(text, 0)
    if fence is None or not fence.closed or text[fence.end :].strip():
        return text
    return fence.body(text).strip()


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _one_line(text: str, start: int, inner: int, marks: str) -> Fence:
    end = text.index(marks, inner)
    word = re.compile(r"(json|python3?|py|sql)(?=[\s{\[\"'])[ \t]*", re.I).match(text, inner, end)
    body_start = word.end() if word else inner
    language = word.group(1).lower() if word else ""
    return Fence(start, end + len(marks), body_start, end, language)


def _closing(text: str, start: int, body_start: int, marks: str, language: str) -> Fence:
    """Finds the closing marks by line: marks with a word open a nested fence, bare ones inside a string are data."""
    strings = Strings(text, body_start) if language in _CODE or language == "" else None
    position, depth = body_start, 0
    while position < len(text):
        line_end = _line_end(text, position)
        line = text[position:line_end].rstrip("\r")
        bare = _BARE.fullmatch(line)
        marked = bare is not None or _NESTED.fullmatch(line) is not None
        if marked and not (strings is not None and strings.holds(position)):
            if bare and bare.group(1).startswith(marks) and depth == 0:
                body_end = position - 1 if position > body_start else position
                return Fence(start, line_end, body_start, max(body_start, body_end), language)
            depth += 1 if not bare else -1 if depth else 0
        position = line_end + 1
    return _closed_at_a_line_end(text, start, body_start, marks, language)


def _closed_at_a_line_end(text: str, start: int, body_start: int, marks: str, language: str) -> Fence:
    """Closes the block at the first closing marks that end a line; without any, the block runs to the end, unclosed."""
    end = re.compile(re.escape(marks) + r"[ \t]*(?=\r?\n|$)").search(text, body_start)
    if end is not None and end.start() > body_start:
        return Fence(start, end.end(), body_start, end.start(), language)
    return Fence(start, len(text), body_start, len(text), language, closed=False)


class Strings:
    """Walks a program's strings once, to find out which positions are inside a triple-quoted one."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.at = start
        self.inside_from = start

    def holds(self, position: int) -> bool:
        """Whether `position` is inside a closed triple-quoted string. Positions must not go backwards."""
        while self.at <= position:
            token = _TRIPLE.search(self.text, self.at)
            if token is None:
                self.at = len(self.text) + 1
                return False
            self.inside_from = self.at = token.end()
            if token.group() in _TRIPLES:
                self.at = self._close(token.group(), token.end())
            else:
                self.inside_from = len(self.text) + 1
        return self.inside_from <= position < self.at

    def _close(self, quotes: str, at: int) -> int:
        """Returns where the string ends; its own beginning if nothing closes it, so that it hides nothing."""
        end = self.text.find(quotes, at)
        while end > 0 and self.text[end - 1] == "\\":
            end = self.text.find(quotes, end + 1)
        return at if end < 0 else end + len(quotes)
