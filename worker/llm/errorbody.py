"""The error bodies of OpenAI-compatible endpoints brought to one shape, with keys removed from their texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from worker.llm.scrub import scrub


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """`code`, `kind` and `param` are "" where the endpoint names none. `message` is fit for a person."""

    message: str
    code: str = ""
    kind: str = ""
    param: str = ""

    @property
    def words(self) -> str:
        """Everything a rule may look at."""
        return f"{self.code} {self.kind} {self.message}"


def read_error(body: object, secrets: Iterable[str] = ()) -> ErrorBody:
    """Takes parsed JSON or text. Never raises: what cannot be read becomes the message."""
    if isinstance(body, list) and body:
        body = body[0]  # Gemini wraps the object in a list
    if not isinstance(body, Mapping):
        return ErrorBody(scrub(_plain(body), secrets))
    error = body.get("error", body)
    if not isinstance(error, Mapping):
        error = {**body, "message": _plain(error)}
    inner = error.get("innererror")
    codes = [error.get("code"), inner.get("code") if isinstance(inner, Mapping) else None]
    return ErrorBody(
        message=scrub(_message(error), secrets),
        code=" ".join(str(code) for code in codes if code is not None),
        kind=str(error.get("type") or error.get("status") or ""),
        param=str(error.get("param") or _refused_field(error)),
    )


def _message(error: Mapping[str, Any]) -> str:
    metadata = error.get("metadata")
    upstream = metadata.get("raw") if isinstance(metadata, Mapping) else None  # a router quotes its provider here
    texts = [error.get("message"), _details(error.get("detail")), upstream]
    return " | ".join(_plain(text) for text in texts if text)


def _details(detail: object) -> str:
    """FastAPI's way: a text, or a list of `{loc, msg}`."""
    if isinstance(detail, list):
        return "; ".join(
            f"{'.'.join(str(part) for part in item.get('loc', ()))}: {item.get('msg', '')}"
            for item in detail
            if isinstance(item, Mapping)
        )
    return _plain(detail)


def _refused_field(error: Mapping[str, Any]) -> str:
    detail = error.get("detail")
    if isinstance(detail, list) and len(detail) == 1 and isinstance(detail[0], Mapping):
        place = detail[0].get("loc") or ()
        return str(place[-1]) if isinstance(place, list) and place else ""
    return ""


def _plain(value: object) -> str:
    """Text without markup, so that a proxy's HTML page reads as its words."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else str(value)
    if "<html" in text[:500].lower() or "<!doctype" in text[:500].lower():
        text = re.sub(r"<(style|script)\b.*?</\1>", " ", text[:20_000], flags=re.DOTALL | re.IGNORECASE)
        text = re.sub(r"<[^>]*>", " ", text)
    return text
