"""Normalises the error bodies of OpenAI-compatible endpoints and removes keys from their texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from worker.llm.scrub import scrub

MAX_WORDS_CHARS = 8_000
"""Rules look no further than this into an error's texts."""
MAX_DEPTH = 8
MAX_NODES = 400


# Names of fields in lower case without `_` and `-`: every provider has its own spelling.
_TEXTS = (
    *("message", "msg", "errormessage", "errormsg", "errmsg", "statusmsg", "errordescription", "error", "detail"),
    *("details", "description", "reason", "title", "raw", "failedreason", "fault", "faultstring", "localizedmessage"),
    *("quotaid", "errors", "err"),
)
_CODES = frozenset({"code", "errorcode", "errcode", "statuscode", "type", "status", "kind", "errortype", "errorname"})
_HTTP_STATUS = re.compile(r"[45]\d\d")


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """`message` is fit for people. `said` is all the texts, with keys: for rules only, never shown.

    `codes` are the machine-readable words (codes, types, statuses) as strings; `code` and `kind` the outermost of them.
    Numbers in MiniMax's `base_resp` or Baidu's `error_code` are prefixed with that name, since numbers clash.
    """

    message: str
    code: str = ""
    kind: str = ""
    param: str = ""
    codes: tuple[str, ...] = ()
    said: str = ""
    fields: tuple[tuple[str, Any], ...] = field(default=(), repr=False)
    """Every other field with a plain value, by its simple name: some providers put the retry time there."""

    @property
    def words(self) -> str:
        """Every text that a rule may examine."""
        return f"{' '.join(self.codes)} {self.said}"

    @property
    def status(self) -> int | None:
        """The HTTP status named in the body, where routers report their provider's error."""
        return next((int(code) for code in self.codes if _HTTP_STATUS.fullmatch(code)), None)


def read_error(body: object, secrets: Iterable[str] = ()) -> ErrorBody:
    """Reads parsed JSON or text. Never raises: what cannot be read becomes the message."""
    found = _Found()
    found.walk(body, "error" if isinstance(body, str) else "", MAX_DEPTH)
    texts = _distinct(found.texts or found.unnamed())
    return ErrorBody(
        message=scrub(" | ".join(texts), secrets),
        code=found.first.get("code", ""),
        kind=found.first.get("type") or found.first.get("status", ""),
        param=found.param,
        codes=tuple(dict.fromkeys(found.codes)),
        said=" | ".join(texts)[:MAX_WORDS_CHARS],
        fields=tuple(found.fields),
    )


class _Found:
    """What a walk through a body collects, outermost first."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.codes: list[str] = []
        self.first: dict[str, str] = {}
        self.fields: list[tuple[str, Any]] = []
        self.param = ""
        self._left = MAX_NODES

    def unnamed(self) -> list[str]:
        """Returns the sentences under unknown names, used if the body has no others."""
        plain = [_plain(value) for _, value in self.fields if isinstance(value, str)]
        return [text for text in plain if " " in text or not text.isascii()]

    def walk(self, value: object, name: str, depth: int) -> None:
        self._left -= 1
        if depth <= 0 or self._left < 0:
            return
        if isinstance(value, Mapping):
            self._mapping(value, depth)
        elif isinstance(value, list):
            for item in value[:50]:
                self.walk(item, name, depth - 1)
        elif isinstance(value, str):
            self._text(value, name, depth)

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> None:
        named = [(simple(str(key)), str(key), inner) for key, inner in value.items()]
        if {"loc", "msg"} <= {name for name, _, _ in named}:  # FastAPI's way to name a refused field
            self._refused_field(value)
            return
        for name, key, inner in sorted(named, key=lambda entry: _rank(entry[0])):
            if isinstance(inner, Mapping) and "seconds" in inner:  # a duration in protobuf's form
                self.fields.append((name, f"{inner['seconds']}s"))
            elif isinstance(inner, Mapping | list):
                self.walk(inner, name, depth - 1)
            elif name in _CODES:
                self._code(name, inner, "base_resp:" if key == "status_code" and "status_msg" in value else "")
            elif name in ("param", "parameter") and isinstance(inner, str):
                self.param = self.param or inner
            elif isinstance(inner, str) and name in _TEXTS:
                self._text(inner, name, depth)
            elif isinstance(inner, str | int | float):
                self.fields.append((simple(key), inner))

    def _code(self, name: str, value: object, prefix: str) -> None:
        if value is None or isinstance(value, bool) or not isinstance(value, str | int | float):
            return
        text = str(value)[:200]
        self.first.setdefault({"code": "code", "type": "type", "status": "status"}.get(name, name), text)
        if isinstance(value, int) and name == "errorcode":
            prefix = "error_code:"
        elif isinstance(value, int) and value > 999:
            prefix = prefix or "number:"  # in no particular provider's list
        self.codes.append(prefix + text)

    def _text(self, text: str, name: str, depth: int) -> None:
        inner = _quoted_json(text)
        if inner is None:
            self.texts.append(_plain(text))
            return
        before = text[: text.index("{")].strip(" :-")
        if before:
            self.texts.append(_plain(before))
        self.walk(inner, name, depth - 1)

    def _refused_field(self, detail: Mapping[Any, Any]) -> None:
        place = detail.get("loc")
        path = [str(part) for part in place] if isinstance(place, list) else []
        self.param = self.param or (path[-1] if path else "")
        self._code("type", detail.get("type"), "")
        self.texts.append(f"{'.'.join(path)}: {detail.get('msg', '')}")


def simple(name: str) -> str:
    """Returns a field's name without the spelling differences between providers."""
    return name.lower().replace("_", "").replace("-", "")


def _rank(name: str) -> int:
    """Sorts the clearest texts first, since a long message is cut at its end."""
    return _TEXTS.index(name) if name in _TEXTS else len(_TEXTS)


def _distinct(texts: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for text in (text.strip() for text in texts):
        if text and not any(text in other for other in kept):
            kept.append(text)
    return kept


def _quoted_json(text: str) -> Mapping[str, Any] | None:
    """Returns the provider's own error, quoted in a router's sentence."""
    begin = text.find("{")
    if begin < 0 or '"' not in text[begin:]:
        return None
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(text[: begin + 50_000], begin)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and {simple(key) for key in value} & {*_TEXTS, *_CODES} else None


def _plain(text: str) -> str:
    """Returns the text without markup, so that a proxy's HTML page reads as words."""
    if "<html" in text[:500].lower() or "<!doctype" in text[:500].lower():
        text = re.sub(r"<(style|script)\b.*?</\1>", " ", text[:20_000], flags=re.DOTALL | re.IGNORECASE)
        text = re.sub(r"<[^>]*>", " ", text)
    return " ".join(text[:20_000].split())


def headers_in(body: object) -> Iterator[Mapping[str, str]]:
    """Yields provider headers that a router quotes in its body (`error.metadata.headers`)."""
    stack: list[tuple[object, int]] = [(body, 0)]
    while stack:
        value, depth = stack.pop()
        if not isinstance(value, Mapping) or depth > MAX_DEPTH:
            continue
        headers = value.get("headers")
        if isinstance(headers, Mapping):
            yield {str(name).lower(): str(text) for name, text in headers.items()}
        stack += [(inner, depth + 1) for inner in value.values()]
