"""Reads response bytes as JSON, however endpoints mangle them: streams, keep-alives, half characters. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import orjson

from worker.llm.deltas import join_chunks

_NOISE = "\ufeff" + "".join(map(chr, range(0x20)))
"""May surround a body without being part of it: byte order marks, white space and control characters."""
_EVENT_LINE = re.compile(r"(?:data|event|id|retry) ?:|:")
_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda name: None)  # NaN and Infinity become None
_BETWEEN = re.compile(r"[\s,]*")


def read_body(content: bytes) -> object:
    """Returns parsed JSON, the reply assembled from a stream's events, or the text if it is neither."""
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        return _read_untidy(content)
    return _read_untidy(value.encode()) if _is_quoted(value) else value


def _is_quoted(value: object) -> bool:
    """Whether the value is JSON that was encoded once more as a string."""
    return isinstance(value, str) and value.lstrip()[:1] in ("{", "[")


def _read_untidy(content: bytes) -> object:
    text = content.decode("utf-8", "replace").strip(_NOISE)
    values = list(_values(text))
    if not values:
        return text
    return _whole(join_chunks(values)) if len(values) > 1 or _is_stream(text) else _whole(values[0])


def _is_stream(text: str) -> bool:
    return text.lstrip().startswith(("data:", "data :", "event:")) or "\ndata:" in text


def _values(text: str) -> Iterator[Any]:
    """Yields every JSON value in the body; skips what is between them (keep-alives, `[DONE]`)."""
    if _is_stream(text) and not text.lstrip().startswith(("{", "[")):
        yield from _events(text)
        return
    at = _begin(text)
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield value
        at = _begin(text, at)


def _begin(text: str, at: int = 0) -> int:
    """Returns where the next JSON value may begin: after white space and a stream's keep-alive lines."""
    while True:
        found = _BETWEEN.match(text, at)
        at = found.end() if found else at
        if not _EVENT_LINE.match(text, at):
            return at
        line = text[at : _line_end(text, at)]
        if line.startswith("data") and line.partition(":")[2].lstrip()[:1] in "{[" and "[DONE]" not in line:
            return text.index(line.partition(":")[2].lstrip()[:1], at)
        at = _line_end(text, at)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _events(text: str) -> Iterator[Any]:
    """Yields the data of server-sent events: one value per data line or, if it spans lines, per event."""
    waiting = ""
    for line in text.splitlines():
        if not line.strip():
            waiting = ""
        if not line.startswith("data"):
            continue
        waiting += line.partition(":")[2].strip()
        if waiting == "[DONE]":
            yield {"done": True}
            waiting = ""
            continue
        try:
            yield _DECODER.decode(waiting)
        except (ValueError, RecursionError):
            waiting += "\n"
        else:
            waiting = ""


def _whole(value: Any, depth: int = 0) -> Any:
    """Returns the value without lone surrogates, which no database accepts."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if depth > 100:
        return None
    if isinstance(value, list):
        return [_whole(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {_whole(name): _whole(item, depth + 1) for name, item in value.items()}
    return value
