"""Finds tool call markup in a text: tags and tokens that make a call, not those that a sentence mentions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from worker.core.records import ToolView
from worker.dialects.parsing.quoting import line_around, quoted_in

_MARK = re.compile(
    r"(?P<dsml><\s{0,2}/?\s{0,2}[|｜]\s{0,2}DSML\s{0,2}[|｜][^<>\n]{0,200}>)"
    r"|(?P<token><[|｜](?![\s|｜>])[^<>|｜\n]{1,60}[|｜]?>|<[A-Za-z_]{3,30}[|｜]>)"
    r"|(?P<tag></?\s?(?:[A-Za-z]\w{0,19}:)?(?P<word>[A-Za-z][\w.\-▁]{1,40})(?P<attributes>[=\s][^<>\n]{0,200})?>)"
    r"|(?P<bracket>\[/?[A-Z][A-Z_]{2,30}\])"
    r"|(?P<bare>(?:commentary|analysis) to=\w|\bto=functions\.\w|\bfunctools(?=\[\s{0,9}\{)|\]<\]minimax\[>\["
    r"|\b(?:call|declaration):(?:default_api[.:])?\w{1,64}\{|\bprint\(default_api\.\w"
    r"|(?P<ornament>[\u2580-\u27bf])(?:FUNCTION|TOOL|CALL|ACTION)[A-Z_]{0,20}(?P=ornament)\s{0,9}[:：])"
)
"""Possible markup, whatever its name; the words in the name decide."""
_MAX_MARKS = 2000
_WORDS = re.compile(r"[^\W_▁]+")
_THINGS = frozenset({"tool", "tools", "function", "functions", "plugin", "plugins", "mcp"})
_DEEDS = frozenset(
    {"call", "calls", "calling", "use", "invoke", "invocation", "request", "requests", "execute", "code"}
)
_JOINED = frozenset({"toolcall", "toolcalls", "tooluse", "functioncall", "functioncalls"})
_SPECIAL = _THINGS | _JOINED | {"call", "calls", "python", "interpreter", "channel", "constrain", "recipient", "action"}
_ENDS = frozenset({"end", "stop", "close"})
_ARGUMENTS = frozenset({"arg_key", "arg_value", "tool_sep"})
_WEAK = _THINGS | _DEEDS | {"parameter", "parameters", "arguments", "args", "action", "actions"}
_HTML = re.compile(
    r"(?:a|abbr|address|area|article|aside|audio|b|base|body|br|button|canvas|caption|code|col|data|datalist|details|"
    r"dialog|div|dl|em|embed|fieldset|figure|footer|form|h\d|head|header|html|i|img|input|label|legend|li|link|main|map|"
    r"mark|menu|meta|meter|nav|note|object|ol|option|output|p|param|picture|pre|progress|q|s|script|search|section|"
    r"select|slot|small|source|span|strong|style|sub|summary|sup|svg|table|tbody|td|template|text|textarea|th|thead|time|"
    r"title|tr|track|u|ul|var|video)",
    re.I,
)
"""A tool with one of these names does not turn an HTML tag into a call."""
_NOUN = frozenset(".,;:!?)\"'”’»…*_/\\]}—–、。，；：）」")
"""A sentence that only mentions a tag continues with one of these characters."""
_CONTENT = re.compile(
    r"[\s:：]{0,40}(?:\{|\[\s{0,9}(?:\{|$|[\w.]{1,64}(?:\(|$))|```|[A-Za-z_][\w.\-:]{0,63}[({]|"
    r"(?=\S{0,60}[_(\[{<])[^\s.,;:!?]\S{0,60}$)"
)
_OBJECT = re.compile(r"\s{0,40}(?:\{\s{0,40}[\"'“]|\[\s{0,40}\{)")
_NAME = re.compile(r"\s{0,40}(?:functions\.)?([A-Za-z_][\w\-]{0,63})")
_CLOSES = re.compile(r"<\s{0,2}/")
_AFTER_CONTENT = ("}", "]", ")", ">")
_HALF = re.compile(
    r"(?:<[|｜][^<>|｜\s]{0,60}[|｜]?|<\s?/?\s?[|｜]\s?DSML[^<>]{0,100}|</?[A-Za-z][\w:.\-]{3,60}"
    r"|<[\w:]{1,20}(?:=| name=)[^<>\n]{0,100}|\[TOOL[A-Z_]{0,20}|\bfunctools\["
    r"|<\|(?:start|from)\|>\s?a[^<>]{0,100}<?|\b(?:commentary|analysis) to=[\w.]{0,80})$"
)
"""A tag or token that is cut off by the end of the text."""
_CALL_FENCE = re.compile(r"(?<!`)(?P<ticks>`{3})(?:tool_code|tool_calls?|tool_use|function_calls?)[ \t]*\n")
_ENVELOPE = re.compile(
    r"\"tool_calls\"\s{0,9}:\s{0,9}\[\s{0,9}(?:$|\{\s{0,9}(?:$|\"(?:id|type|index|function|name|arguments)\"))"
    r"|\"function_call\"\s{0,9}:\s{0,9}\{\s{0,9}(?:$|\"(?:name|arguments)\")"
)
"""The chat API's own format for calls, written out as text."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A tag or token. `strong` if its words name a call; a weak one counts only if a call's content follows."""

    start: int
    end: int
    closes: bool
    strong: bool
    bare: bool = False
    """Whether it is plain words that occur only in a call (`commentary to=NAME`), not a tag or token."""


def markup_start(text: str, tools: Sequence[ToolView]) -> int | None:
    """Finds the first call markup that is neither quoted nor just mentioned; None if there is none."""
    if "<" not in text and "[" not in text and ":" not in text and "=" not in text and "(" not in text:
        return None
    quoted = quoted_in(text)
    names = frozenset(tool.name for tool in tools)
    live = (mark.start for mark in marks(text, names) if not quoted.holds(mark.start) and _acts(text, mark, names))
    fences = (fence.start() for fence in _CALL_FENCE.finditer(text) if quoted.begins(fence.start("ticks")))
    enveloped = (_opening(text, found.start()) for found in _ENVELOPE.finditer(text) if not quoted.holds(found.start()))
    listed = (found.start() for found in _listed(names).finditer(text) if not quoted.holds(found.start()))
    half = _HALF.search(text, max(0, len(text) - 130))
    cut = [half.start()] if half is not None and not quoted.holds(half.start()) else []
    return min([*islice(live, 1), *islice(fences, 1), *islice(listed, 1), *islice(enveloped, 1), *cut], default=None)


def _opening(text: str, key: int) -> int:
    """Finds the beginning of the object that the key at `key` belongs to; returns `key` if it cannot be found."""
    brace = text.rfind("{", 0, key)
    return brace if brace >= 0 else key


@lru_cache(maxsize=64)
def _listed(names: frozenset[str]) -> re.Pattern[str]:
    """Matches a list of written calls, `[tool(…`, of one of these tools."""
    return re.compile(rf"\[\s{{0,9}}(?:{'|'.join(map(re.escape, sorted(names))) or '(?!)'})\(")


def marks(text: str, names: frozenset[str]) -> Iterator[Mark]:
    """Yields the tags and tokens that may belong to a call, in order."""
    for found in islice(_MARK.finditer(text), _MAX_MARKS):
        mark = _mark(found, names)
        if mark is not None:
            yield mark


def is_html(word: str) -> bool:
    """Whether a tag with this name is HTML."""
    return _HTML.fullmatch(word) is not None


def opens_call(token: str) -> bool:
    """Whether a special token announces a call: a text that ends with it was cut off before the call."""
    mark = mark_at(token, 0, frozenset())
    return mark is not None and mark.strong and not mark.closes


def mark_at(text: str, at: int, names: frozenset[str]) -> Mark | None:
    """Returns the tag or token that begins at `at`."""
    found = _MARK.match(text, at)
    return _mark(found, names) if found else None


def _mark(found: re.Match[str], names: frozenset[str]) -> Mark | None:
    written, kind = found.group(), found.lastgroup if found.group("tag") is None else "tag"
    closes = _CLOSES.match(written) is not None or written.startswith("[/")
    if kind in ("dsml", "bare"):
        return Mark(found.start(), found.end(), closes, strong=True, bare=kind == "bare")
    if kind == "tag":
        return _tag(found, closes, names)
    words = _words_of(written)
    ends = closes or bool(words & _ENDS) or written in ("<|call|>",) or (written[1] not in "|｜[" and written[0] == "<")
    if kind == "token":
        strong = bool(words & _SPECIAL)
        return Mark(found.start(), found.end(), ends, strong) if strong or not ends else None
    if not words & (_THINGS | _JOINED | {"call", "calls", "args", "action"}):
        return None
    strong = bool(words & _JOINED or (words & _THINGS and words & _DEEDS))
    return Mark(found.start(), found.end(), ends, strong)


@lru_cache(maxsize=512)
def _words_of(written: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORDS.findall(written))


def _tag(found: re.Match[str], closes: bool, names: frozenset[str]) -> Mark | None:
    word, attributes = found.group("word"), found.group("attributes") or ""
    words = _words_of(word)
    value = attributes.startswith("=")
    named = attributes.lstrip().startswith("name=")
    strong = bool(
        words & _JOINED
        or (words & _THINGS and words & _DEEDS)
        or word in _ARGUMENTS
        or (value and word in ("function", "parameter", "tool", "invoke"))
        or (named and word == "invoke")
        or (closes and word == "invoke")
        or (word in names and not is_html(word))
        or (named and words & _WEAK and any(f'"{name}"' in attributes for name in names))
    )
    if not strong and not words & _WEAK:
        return None
    return Mark(found.start(), found.end(), closes, strong)


def _acts(text: str, mark: Mark, names: frozenset[str]) -> bool:
    """Whether a mark does more than being mentioned in a sentence."""
    if mark.bare:
        return True
    if mark.closes:
        return _closes_content(text, mark)
    rest = text[mark.end : mark.end + 400]
    if not mark.strong:
        return _OBJECT.match(rest) is not None or _names_tool(rest, names)
    if rest.startswith("</") and (shut := mark_at(text, mark.end, names)):
        rest = text[shut.end : shut.end + 400]  # an empty pair, as when a sentence mentions the tag
    if not rest.strip() or _CONTENT.match(rest) or _names_tool(rest, names):
        return True
    if rest[0] in _NOUN:
        return False
    same_line = rest.partition("\n")[0]
    return not (rest[0] in " \t\u00a0|" and re.search(r"\w", same_line))


def _names_tool(rest: str, names: frozenset[str]) -> bool:
    """Whether a known tool's name follows, or the beginning of one at the end of the text."""
    found = _NAME.match(rest)
    if found is None:
        return False
    name = found.group(1)
    return name in names or (found.end() == len(rest) and any(known.startswith(name) for known in names))


def _closes_content(text: str, mark: Mark) -> bool:
    """Whether a closing mark follows a call, or is alone; weak ones occur in any XML, so they must follow an object."""
    before = text[max(0, mark.start - 200) : mark.start].rstrip()
    if not mark.strong:
        return before.endswith(("}", "}]"))
    if before.endswith(_AFTER_CONTENT):
        return True
    line, behind = line_around(text, mark.start, mark.end)
    glued = line[-1:] not in ("", " ", "\t", '"', "'", "“", "(", "*", "_", "|", "/")
    return not (re.search(r"\w", line) or re.search(r"\w", behind)) or (glued and not behind.strip())
