"""Bytes of whole replies: unrequested streams, byte order marks, comments, numbers and text that JSON forbids."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from worker.practice.http import encode
from worker.practice.quirks.base import JSON, Asked, Quirk, Wire
from worker.practice.records import Completion, Say
from worker.practice.stream import chunks

Bytes = Callable[[dict[str, Any]], bytes]
_EVENTS = {"content-type": "text/event-stream"}


def _as_stream(events: Callable[[list[bytes]], bytes], content_type: str = "text/event-stream") -> Any:
    def write(asked: Asked, completion: Completion) -> Wire:
        parts = [encode(chunk) for chunk in chunks(completion.body, 4, wants_usage=True)]
        return Wire(events(parts), headers={"content-type": content_type})

    return write


def _events(parts: list[bytes]) -> bytes:
    return b"".join(b"data: " + part + b"\n\n" for part in (*parts, b"[DONE]"))


def _events_with_comments(parts: list[bytes]) -> bytes:
    lines = [b": PROCESSING\n\n" + b"event: message\r\ndata:" + part + b"\r\n\r\n" for part in parts]
    return b"".join((*lines, b"data: [DONE]\n\n"))


def _unended_events(parts: list[bytes]) -> bytes:
    """Omits [DONE], but a finish reason is there, so the reply is whole."""
    return b"".join(b"data: " + part + b"\n\n" for part in parts)


def _rewritten(changes: Sequence[Bytes]) -> Callable[[Asked, Completion], Wire]:
    def write(asked: Asked, completion: Completion) -> Wire:
        return Wire(asked.pick(changes)(copy.deepcopy(completion.body)))

    return write


def _broken_text(asked: Asked, completion: Completion) -> Wire | None:
    """Puts bytes that are not UTF-8, or half a surrogate pair, into the answer's text."""
    if not isinstance(completion.intent, Say):
        return None
    body = copy.deepcopy(completion.body)
    message = body["choices"][0]["message"]
    text, end = re.fullmatch(r"(.*?)(\"\}|\])?", str(message["content"]), re.DOTALL).groups()  # type: ignore[union-attr]
    message["content"] = f"{text} MARK{end or ''}"
    bad = asked.pick((b"\xff\xfe", b"\xc3", b"\\ud83d", b"\\udc00\\ud83d", b"\xed\xa0\xbd"))
    return Wire(encode(body).replace(b"MARK", bad))


def _nan(body: dict[str, Any]) -> bytes:
    body["choices"][0]["logprobs"] = {"content": [{"token": "a", "logprob": float("nan")}]}
    return encode(body)


def _infinity(body: dict[str, Any]) -> bytes:
    body["choices"][0]["score"] = float("-inf")
    body["timings"] = {"predicted_per_second": float("inf")}
    return encode(body)


def _numbers_as_text(body: dict[str, Any]) -> bytes:
    body["created"] = str(body["created"])
    body["choices"][0]["index"] = "0"
    if isinstance(body.get("usage"), dict):
        body["usage"] = {name: str(value) if isinstance(value, int) else value for name, value in body["usage"].items()}
    return encode(body)


def _content_in_parts(body: dict[str, Any]) -> bytes:
    message = body["choices"][0]["message"]
    text = message.get("content") or ""
    half = len(text) // 2
    message["content"] = [{"type": "text", "text": text[:half]}, {"type": "text", "text": text[half:]}]
    return encode(body)


def _arguments_as_object(body: dict[str, Any]) -> bytes:
    for call in body["choices"][0]["message"].get("tool_calls") or ():
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return encode(body)


def _calls_null(body: dict[str, Any]) -> bytes:
    body["choices"][0]["message"] = {"tool_calls": None, "function_call": None, **body["choices"][0]["message"]}
    return encode(body)


def _bare(body: dict[str, Any]) -> bytes:
    """Returns only what a reply needs."""
    choice = body["choices"][0]
    said = {name: value for name, value in choice["message"].items() if value is not None}
    return encode({"choices": [{"message": said, "finish_reason": choice["finish_reason"]}]})


def _useless(bodies: Sequence[bytes]) -> Callable[[Asked, Completion], Wire | None]:
    """Sends a success without a completion, at each first try."""

    def write(asked: Asked, completion: Completion) -> Wire | None:
        return Wire(asked.pick(bodies)) if asked.fresh else None

    return write


KEEP_ALIVE: Sequence[Bytes] = (
    lambda body: b"\n\n\n\n" + encode(body),
    lambda body: b" " * 300 + b"\r\n" + encode(body) + b"\n",
    lambda body: b": PROCESSING\n\n: PROCESSING\n\n" + encode(body),
    lambda body: b": keep-alive\n: keep-alive\n\n" + encode(body),
    lambda body: b"\x00\x00" + encode(body),
)
BEHIND: Sequence[Bytes] = (
    lambda body: encode(body) + b"\n\ndata: [DONE]\n\n",
    lambda body: encode(body) + b"data: [DONE]",
    lambda body: b"data: " + encode(body) + b"\n\ndata: [DONE]\n\n",
    lambda body: encode(body) + b"\n\x00\x00",
)
USELESS = (
    b"",
    b"<html><body>upstream said nothing</body></html>",
    b'{"choices": []}',
    b'{"choices": null}',
    b"null",
    b"{}",
)

QUIRKS = (
    Quirk("stream-unasked", "streams without being asked", write=_as_stream(_events)),
    Quirk(
        "stream-as-json",
        "streams without being asked, and calls it JSON",
        write=_as_stream(_events, JSON["content-type"]),
    ),
    Quirk(
        "stream-commented", "streams unasked, with comments and event names", write=_as_stream(_events_with_comments)
    ),
    Quirk("stream-unended", "streams unasked, without a last [DONE]", write=_as_stream(_unended_events)),
    Quirk("done-behind", "lets the end mark of a stream follow its JSON", samples=4, write=_rewritten(BEHIND)),
    Quirk(
        "byte-order-mark",
        "begins with a byte order mark",
        write=_rewritten((lambda body: b"\xef\xbb\xbf" + encode(body),)),
    ),
    Quirk("keep-alive", "sends blanks, zero bytes or comments while it works", samples=5, write=_rewritten(KEEP_ALIVE)),
    Quirk("not-a-number", "writes NaN and Infinity", samples=2, write=_rewritten((_nan, _infinity))),
    Quirk("numbers-as-text", "writes numbers as text", write=_rewritten((_numbers_as_text,))),
    Quirk("text-broken", "writes an answer with bytes that are not text", samples=5, write=_broken_text),
    Quirk("content-in-parts", "writes content as a list of parts", write=_rewritten((_content_in_parts,))),
    Quirk("arguments-as-object", "writes arguments as an object", write=_rewritten((_arguments_as_object,))),
    Quirk("calls-null", "names fields that it leaves null", write=_rewritten((_calls_null,))),
    Quirk("bare", "leaves out everything that a reply does not need", write=_rewritten((_bare,))),
    Quirk("useless", "succeeds at each first try without a reply", samples=6, write=_useless(USELESS)),
)
