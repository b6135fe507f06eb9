"""Reads token counts from an error, by the role that the words next to them give: the limit, or what was sent. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from worker.llm.evidence import Said

LEAST_ROOM = 256
"""Tokens. If less is left for the reply, shortening the conversation helps more than shortening the reply."""

_N = r"(\d[\d,]*(?:\.\d+)?k?)(?![\d.]*[a-z-]|\d)"
_CONTEXT = re.compile(
    rf"(?:context|model len\w*|sequence length|n ctx|token limit)[^\d.]{{0,60}}?{_N}"
    rf"|{_N}(?: tokens?)?(?: maximum| max)? context"
    rf"|\+[^.;]{{0,40}}?(?:must be|exceeds?|limit|<=|≤)[^\d]{{0,30}}{_N}"
)
_PROMPT = re.compile(
    rf"{_N} (?:tokens? )?(?:\w+ )?(?:in|from|of) (?:the |your |text )?(?:input|messages?|prompt)"
    rf"|{_N} (?:text |of )?(?:inputs?|prompt)(?: \w+)? tokens|{_N} inputs tokens"
    rf"|(?:prompt|inputs?|messages?)(?: \w+)?(?: tokens?| length)?(?: \w+)?[^\d.;]{{0,24}}?"
    rf"(?:contains?|has|have|is|are|of|in|with|uses?|=|:)(?: at least)? ?{_N}"
)
_ASKED = re.compile(
    rf"{_N} (?:tokens? )?(?:\w+ )?(?:in|for|from) (?:the |your )?(?:completion|output|response|reply|generation)"
    rf"|{_N} (?:output|completion|new|max new|generated) tokens"
    rf"|max (?:completion |output |new )?tokens(?: of| =|:| to| is| set to| value)?(?: too large)?[ (:=]*{_N}"
)
_REQUESTED = re.compile(rf"limit:? {_N}.{{0,60}}?requested:? {_N}|requested:? {_N}.{{0,60}}?limit:? {_N}")
_SUM = re.compile(rf"{_N} ?\+ ?{_N} ?> ?{_N}")
_DIFFERENCE = re.compile(rf"{_N} ?> ?{_N} ?- ?{_N}")
_NUMBER = re.compile(rf"(?<![\w.\-])(?<!- ){_N}")
_BELOW = re.compile(rf"(?:less|lower|smaller|fewer) than (?!or equal){_N}|{_N} ?\(? ?exclusive")


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes in tokens; None if the error does not say."""

    context: int | None = None
    prompt: int | None = None
    asked: int | None = None

    @property
    def room(self) -> int | None:
        """The part of the context that the prompt leaves; 0 or less if the prompt does not fit."""
        return None if self.context is None or self.prompt is None else self.context - self.prompt

    @property
    def overflow(self) -> bool:
        """Whether the numbers alone show that the prompt, with or without the reply's limit, does not fit."""
        return self.context is not None and self.prompt is not None and self.prompt + (self.asked or 0) > self.context


def sizes_in(said: Said) -> Sizes:
    """Returns the context's size, the prompt's and the reply's limit, if the error states them."""
    text = said.message
    if found := _SUM.search(text):
        prompt, asked, context = map(_int, found.groups())
        return Sizes(context, prompt, asked)
    if found := _DIFFERENCE.search(text):
        asked, context, prompt = map(_int, found.groups())
        return Sizes(context, prompt, asked)
    return Sizes(_first(_CONTEXT, text), _first(_PROMPT, text), _first(_ASKED, text))


def stated_output_limit(said: Said, asked: int | None = None) -> int | None:
    """Returns the most output tokens from an error about nothing else: the smallest number except the requested one."""
    below = _first(_BELOW, said.message)
    if below is not None:
        return below - 1
    numbers = [_int(number) for number in _NUMBER.findall(said.message.replace("`", ""))]
    sizes = sorted({number for number in numbers if number > 16 and number not in (400, 413, 422)} - {asked})
    return sizes[0] if sizes else None


def alone_over_the_limit(said: Said) -> bool:
    """Whether this request alone exceeds a per-minute limit: "Limit 6000, Requested 7000"."""
    found = _REQUESTED.search(said.message)
    if not found:
        return False
    limit, requested = (found[1], found[2]) if found[1] else (found[4], found[3])
    return _int(requested) > _int(limit)


def _first(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return _int(next(group for group in found.groups() if group)) if found else None


def _int(text: str) -> int:
    plain = text.replace(",", "").rstrip(".")
    return int(float(plain.rstrip("k")[:30]) * (1000 if plain.endswith("k") else 1))
