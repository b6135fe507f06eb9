"""Finds calls in words: lines that name an offered tool and give it a value, in a notation that no sentence uses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from worker.core.records import ToolView
from worker.dialects.parsing.binding import properties
from worker.dialects.parsing.call_markup import is_html
from worker.dialects.parsing.named_objects import ARGS_KEYS, NAME_KEYS, strict_json, takes
from worker.dialects.parsing.names import is_plain_word
from worker.dialects.parsing.quoting import Quoted

_MAX_CHARS = 1500
"""The most that is examined of the last paragraph: a call in words is short."""
_MAX_PLACES = 20
_MAX_OPENINGS = 5
_CALL_WORD = (
    r"(?:tools?|functions?|actions?|calls?|calling|use|uses|using|run|runs|running|invok(?:e|es|ing)|execut(?:e|es|ing)|"
    r"search(?:es|ing)?|quer(?:y|ies|ying)|send(?:s|ing)?|request(?:s|ing)?|get|post|now|next|the|with|to|command|cmd|name|"
    r"werkzeug|rufe|nutze|outil|appel|appelle|herramienta|llamo|uso|ferramenta|strumento|调用|使用|工具)"
)
"""Words that announce a call. Words about the past, or about the writer, are not among them."""
_ANNOUNCED = rf"[^\w\n]{{0,12}}(?:{_CALL_WORD}\b[^\w\n]{{1,6}}){{0,4}}[^\w\n]{{0,4}}"
_BEFORE = re.compile(_ANNOUNCED, re.I)
_NAMING = rf"(?:{'|'.join(sorted(NAME_KEYS))}|tool_call)[\"']?\s?[:=]\s?[\"']?"
_BEFORE_GIVEN = re.compile(rf"{_ANNOUNCED}(?:{_NAMING})?", re.I)
_BULLET = re.compile(r"\s*(?:[-*+•–]|\d{1,3}[.)])\s")
_SEPARATED = re.compile(r"[`*_\"'\]}]{0,4}[ \t]{0,3}(?:[:：|;]|[-=]>|<-|→|»|<<)[ \t]{0,3}(?P<value>\S[^\n]*)")
_SPACED = re.compile(r"[ \t]{1,3}(?P<value>\S[^\n]*)")
_SENTENCE = re.compile(r"(?:\S+\s+){5}.*[.!?…。]\W*|(?:an?|the|eine?r?|der|die|das|une?|la|le|el)\s.*", re.I | re.S)
"""A statement: six words and a full stop, or an article at its beginning."""
_CODED = re.compile(r"[=*^{\[]|[\"'“][^\"”]{0,400}[\"'”]\W*$|\d\s?[+/\-]\s?\d")
_OPENS = {"[": "]", "(": ")", "{": "}", "*": "*", "<": ">", "【": "】", "«": "»"}
_TAG_AROUND = re.compile(r"<(?P<tag>[A-Za-z][\w\-:]{0,30})(?:\s[^<>\n]{0,200})?>(?P<inner>.*)</(?P=tag)\s?>", re.S)
_ONE_TAG = re.compile(r"<(?P<tag>[A-Za-z][\w\-:]{0,30})\s(?P<inner>[^<>\n]{1,400}?)/?>(?:\s*</(?P=tag)\s?>)?")
_GOES_ON = re.compile(r"[\s`*_\"')\]]*[.!…\s]*")
_SIGNS = ("/", "@", "!", "$", "#", "[", "(")
_PROMISE = re.compile(r"(?:calling|using|running|invoking|executing|rufe|nutze|appelle|llamo)\b", re.I)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the last paragraph names a tool: the line before the name, and everything after it."""

    tool: ToolView
    before: str
    after: str

    @property
    def is_plain(self) -> bool:
        """Whether the name is an everyday word, so that only a notation shows that the tool is meant."""
        return is_plain_word(self.tool.name)


def words_call(text: str, quoted: Quoted, tools: Sequence[ToolView], *, labelled: bool = False) -> bool:
    """Whether the last paragraph of a text calls a tool in words, outside backticks and fences.

    If the text is `labelled` as an answer, only a notation counts, not a name and a word.
    """
    body = text.rstrip()
    start = max(body.rfind("\n\n") + 2 if "\n\n" in body else 0, len(body) - _MAX_CHARS)
    places = _places(body, start, tools)
    named = [place for at, place in places if not quoted.holds(at) and not _in_object(place)]
    if not named:
        return False
    paragraph = body[start:].strip()
    if (
        any(_gives(place, labelled=labelled) for place in named)
        or _object_first(body, named, tools)
        or _enclosed(paragraph, named)
    ):
        return True
    if any(_passed(place) or _glued(place, labelled=labelled) for place in named):
        return True
    if len(named) > 1 or "\n" in paragraph:
        return False
    return _separated(named[0]) or (not labelled and _spaced(named[0], paragraph, alone=start == 0))


def _in_object(place: _Place) -> bool:
    """Whether the name is a value in a JSON object, which is checked as one."""
    return re.search(r":\s*\"$", place.before) is not None and re.match(r"\"\s*[,}]", place.after) is not None


def _places(body: str, start: int, tools: Sequence[ToolView]) -> Iterator[tuple[int, _Place]]:
    by_name = {tool.name.casefold(): tool for tool in tools}
    found = _named(tuple(by_name)).finditer(body, start)
    for place in islice(found, _MAX_PLACES):
        line = max(body.rfind("\n", 0, place.start()) + 1, start)
        tool = by_name[place.group().casefold()]
        if place.group() == tool.name or not is_plain_word(tool.name):
            yield place.start(), _Place(tool, body[line : place.start()], body[place.end() :])


@lru_cache(maxsize=64)
def _named(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w])(?:{'|'.join(map(re.escape, names)) or '(?!)'})(?![\w])", re.I)


def _gives(place: _Place, *, labelled: bool) -> bool:
    """Finds `get_weather, city=Oslo`, `Use tool get_weather with city "Oslo"`, `tool = get_weather` / `city = Oslo`."""
    if labelled and place.after.startswith("(") and re.search(r"\w", place.before):
        return False  # an answer may recommend `use tool(parameter="value")`
    given = _given(tuple(properties(place.tool)), place.is_plain).match(place.after)
    return given is not None and _BEFORE_GIVEN.fullmatch(place.before) is not None


@lru_cache(maxsize=256)
def _given(parameters: tuple[str, ...], plain: bool) -> re.Pattern[str]:
    names = "|".join(map(re.escape, parameters)) or "(?!)"
    keys = rf"(?:{names}|{'|'.join(sorted(ARGS_KEYS))})"
    link = r"(?:(?:with|and|mit|avec|con|com|für|for|where)\s{1,3}(?:the\s)?)?"
    value = r"\s?[:=]>?\s?(?=[\"'“\w])" if plain else r"(?:\s?(?:=>|->|[:：=|])\s?(?=\S)|\s(?=[\"'“`\d]))"
    marks = r"[\"'`*_\]\)]{0,4}\s{0,9}(?:```\w{0,12}\s+(?:\w{1,30}\()?)?[,;|?&:\-(\[<]{0,2}\s{0,9}"
    return re.compile(rf"{marks}{link}[\"'`:\-*]{{0,3}}{keys}[\"'`*]{{0,3}}{value}", re.I)


def _enclosed(paragraph: str, places: Sequence[_Place]) -> bool:
    """Matches whole lines: `[get_weather: Oslo]`, `*uses get_weather for Oslo*`, `<search>web_search: …</search>`."""
    line = paragraph.rpartition("\n")[2].strip()
    inner = _inside(line)
    tag = _TAG_AROUND.fullmatch(paragraph) or _ONE_TAG.fullmatch(line) if inner is None else None
    if tag is not None and is_html(tag.group("tag")):
        return False
    if tag is not None:
        inner = tag.group("inner")
        if any(_in_attribute(place, inner) for place in places):
            return True
    return inner is not None and any(_heads(place, inner) for place in places)


def _in_attribute(place: _Place, inner: str) -> bool:
    """Matches `<run name="get_weather"><city>…`: an element that names the tool and holds a parameter or an object."""
    parameters = "|".join(map(re.escape, properties(place.tool))) or "(?!)"
    held = re.search(rf"<(?:{parameters})>|^\s*\{{", inner) is not None
    return held and re.search(r"<[\w:\-]{1,30}\s[^<>\n]{0,60}=\s?[\"']$", place.before) is not None


def _inside(line: str) -> str | None:
    """Returns the text between the brackets or stars around a line."""
    if len(line) < 3 or _OPENS.get(line[0]) != line[-1] or line.startswith("<") != line.startswith("<<"):
        return None
    depth = 0
    for at, letter in enumerate(line):
        depth += (letter == line[0]) - (letter == line[-1]) if line[0] != "*" else 0
        if depth == 0 and 0 < at < len(line) - 1 and letter == line[-1]:
            return None
    return line[1:-1]


def _heads(place: _Place, inner: str) -> bool:
    """Whether the enclosed text begins with the name, after any words that announce it, and goes on."""
    found = _named((place.tool.name.casefold(),)).search(inner)
    if found is None or re.search(r"\w", inner[found.end() :]) is None:
        return False
    if place.is_plain and (found.group() != place.tool.name or not _CODED.search(inner[found.end() :])):
        return False
    before = inner[: found.start()]
    return _BEFORE_GIVEN.fullmatch(before) is not None and not _SENTENCE.fullmatch(inner[found.end() :].lstrip(": "))


def _passed(place: _Place) -> bool:
    """Finds `call_tool("get_weather", …)`: any function whose first argument is the tool's name, alone on its lines."""
    opened = re.fullmatch(r"\W{0,6}(?:\w+\s?=\s?)?(?:await\s)?[\w.]{1,60}\((?:\s*name\s?=)?\s*[\"']", place.before)
    return opened is not None and re.match(r"[\"']\s*,.*\)\W{0,4}$", place.after, re.S) is not None


def _separated(place: _Place) -> bool:
    """Matches `get_weather: Oslo`, `web_search -> "…"`: the name, a separator, and a value that is no statement."""
    found = _SEPARATED.fullmatch(place.after)
    if found is None or _BULLET.match(place.before) or not _BEFORE.fullmatch(place.before):
        return False
    return not _SENTENCE.fullmatch(found.group("value")) and _is_identifier(place, found.group("value"))


def _spaced(place: _Place, paragraph: str, *, alone: bool) -> bool:
    """Whether the last paragraph is `/get_weather Oslo`, `[get_weather] Oslo` or `Using tool: get_weather`.

    A name and a word without any sign count only if they are the whole text.
    """
    before = _BEFORE.fullmatch(place.before)
    if before is None or _BULLET.match(place.before):
        return False
    if _GOES_ON.fullmatch(place.after):
        return _PROMISE.search(place.before) is not None and (not place.is_plain or "tool" in place.before.lower())
    found = _SPACED.fullmatch(place.after.lstrip("`*_\"'])"))
    if (
        found is None
        or found.group("value")[0] == "="
        or paragraph.endswith((".", "!", "?", "…"))
        or len(paragraph.split()) > 8
    ):
        return False
    if not _is_identifier(place, found.group("value")):
        return False
    marked = place.before.rstrip(" ")[-1:] in _SIGNS or found.group("value")[0] in "\"'“"
    short = alone and place.before in ("", "> ") and len(paragraph.split()) < 5
    return marked or short


def _glued(place: _Place, *, labelled: bool) -> bool:
    """Finds `get_weather[Oslo]`, `execute: get_weather({…})`: brackets directly after the name, nothing after them."""
    held = re.fullmatch(r"[(\[{](?P<value>.*)[)\]}](?:</[\w:]{1,30}>)?\W{0,4}", place.after, re.S)
    if held is None or not _BEFORE.fullmatch(place.before) or _BULLET.match(place.before):
        return False
    if labelled and re.search(r"\w", place.before):
        return False
    names = re.split(r"[\s,]+", held.group("value").strip())
    signature = all(name in ("", *properties(place.tool)) for name in names)
    return not signature and _is_identifier(place, held.group("value"))


def _is_identifier(place: _Place, value: str) -> bool:
    """Whether the name is no everyday word, or else the value is not plain words."""
    return not place.is_plain or _CODED.search(value) is not None


def _object_first(body: str, places: Sequence[_Place], tools: Sequence[ToolView]) -> bool:
    """Matches `Running {"query": …} with sql_query`: arguments, up to three words, the tool's name, the text's end."""
    for place in places:
        end = re.match(r"[`\"'\s]*(?:[^\W\d_]{1,12}[.!…\s`]*){0,2}\W*$", place.after)
        at = len(body) - len(place.after) - len(place.tool.name)
        close = body.rfind("}", 0, at)
        if end is None or close < 0 or not re.fullmatch(r"[^\w\n]*(?:[^\W\d_]{1,12}\W+){0,3}", body[close + 1 : at]):
            continue
        if any(takes(place.tool.name, value, tools) for value in _objects_up_to(body, close + 1)):
            return True
    return False


def _objects_up_to(body: str, end: int) -> Iterator[object]:
    """Yields the objects that end at a position, the shortest first."""
    begin = end
    for _ in range(_MAX_OPENINGS):
        begin = body.rfind("{", max(0, end - _MAX_CHARS), begin)
        if begin < 0:
            return
        yield strict_json(body, begin, end)
