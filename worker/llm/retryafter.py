"""Reads how long a provider asks clients to wait: from a header, a field of the error, or its sentence."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from worker.llm.durations import http_date_s, moments_s, number, span_s, until_s
from worker.llm.errorbody import ErrorBody, headers_in

MAX_RETRY_AFTER_S = 86_400.0

_MILLISECONDS = ("retry-after-ms", "x-ms-retry-after-ms", "x-retry-after-ms")
_SPANS = ("retry-after", "x-retry-after")
# Fields of an error, by their simple names, that hold a duration, a timestamp, or milliseconds.
_FIELD_SPANS = (
    *("retrydelay", "retryafter", "retryafterseconds", "retryaftersecs", "retryin", "retryat", "resetsin", "resetat"),
    *("resetinseconds", "resetsinseconds", "resetafter", "resetsat", "resettime", "secondsuntilreset", "waitseconds"),
    *("estimatedtime", "backoffseconds", "cooldown", "cooldownseconds"),
)
_FIELD_MILLISECONDS = ("retryafterms", "retryaftermillis", "resetms", "retrydelayms")

_AGAIN = re.compile(
    r"(?:again|retry|wait(?:ing)?|available|resets?|restored?|refresh\w*|back|until|for another|cool ?down|backoff)"
    r"[^.\d|]{0,40}?(\d[\d.]*\s?[^\W\d_]+(?:[\s,]*(?:and )?\d[\d.]*\s?[^\W\d_]+){0,3})",
    re.IGNORECASE,
)
_ONE = re.compile(r"\b(?:an?|one) (second|minute|hour|day)\b", re.IGNORECASE)
_AFTERWARDS = re.compile(
    r"(\d[\d.]*\s?(?:秒钟?|分钟?|小时|天))(?:之?后|内)|(?:en|dans|in) (\d[\d.]* ?[^\W\d_]+)", re.IGNORECASE
)
_MOMENT_WORDS = re.compile(
    r"(?:again|retry|resets?|until|access|available|restored?|refresh\w*|renew\w*|back|returns?|after|重置|恢复|在)[^|]{0,80}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """`wait_s` is None if the provider asked for nothing readable. `note` says that the wait was capped, else ""."""

    wait_s: float | None = None
    note: str = ""


def retry_after(headers: Mapping[str, str], wall_now_s: float | None = None) -> Asked:
    """Reads case-insensitive headers. A timestamp counts from the response's own `Date`, since clocks may differ."""
    return _bounded(_in_headers(headers, _now_s(headers, wall_now_s)))


def asked_to_wait(headers: Mapping[str, str], body: object, error: ErrorBody, wall_now_s: float | None = None) -> Asked:
    """Like `retry_after`, then also reads headers quoted in the body, its fields and its sentences."""
    now_s = _now_s(headers, wall_now_s)
    wait_s = _in_headers(headers, now_s)
    if wait_s is None:
        wait_s = _first(_in_headers(quoted, now_s) for quoted in headers_in(body))
    if wait_s is None:
        wait_s = _in_fields(error.fields, now_s)
    if wait_s is None:
        wait_s = in_words(error.said, now_s)
    return _bounded(wait_s)


def in_words(text: str, wall_now_s: float) -> float | None:
    """Returns the seconds in a sentence: "try again in 1m2.5s", "resets at 2026-12-01T00:00:00Z", "30 秒后重试"."""
    text = _ONE.sub(r"1 \1", text)
    for found in _AGAIN.finditer(text):
        if (wait_s := span_s(found[1])) is not None and not re.match(r"\d{4}-", found[1]):
            return wait_s
    for found in _MOMENT_WORDS.finditer(text):
        for moment_s in moments_s(found[0], wall_now_s):
            if moment_s > wall_now_s:
                return moment_s - wall_now_s
    return _first(span_s(found[1] or found[2]) for found in _AFTERWARDS.finditer(text))


def _now_s(headers: Mapping[str, str], wall_now_s: float | None) -> float:
    served_s = http_date_s(headers.get("date"))
    if served_s is not None:
        return served_s
    return time.time() if wall_now_s is None else wall_now_s


def _bounded(wait_s: float | None) -> Asked:
    if wait_s is None:
        return Asked()
    if wait_s > MAX_RETRY_AFTER_S:
        return Asked(MAX_RETRY_AFTER_S, f"asked for {wait_s:.0f} s, capped at {MAX_RETRY_AFTER_S:.0f} s")
    return Asked(max(0.0, wait_s))


def _first(waits: Iterable[float | None]) -> float | None:
    return next((wait_s for wait_s in waits if wait_s is not None), None)


def _in_headers(headers: Mapping[str, str], now_s: float) -> float | None:
    for name in _MILLISECONDS:
        if (wait_ms := number(headers.get(name))) is not None:
            return wait_ms / 1000
    wait_s = _first(until_s(headers.get(name), now_s) for name in _SPANS)
    return max(_resets(headers, now_s), default=None) if wait_s is None else wait_s


def _resets(headers: Mapping[str, str], now_s: float) -> Iterator[float]:
    """Yields when each exhausted resource is refilled: `x-ratelimit-reset-tokens` if `…-remaining-tokens` is 0."""
    for name in headers:
        plain = name.lower()
        if "ratelimit" not in plain or "reset" not in plain:
            continue
        remaining = number(headers.get(plain.replace("reset", "remaining")))
        if remaining is not None and remaining > 0:
            continue
        if remaining is None and _others_used_up(headers):
            continue
        if (wait_s := until_s(headers.get(name), now_s)) is not None:
            yield wait_s


def _others_used_up(headers: Mapping[str, str]) -> bool:
    return any(
        "ratelimit" in name.lower() and "remaining" in name.lower() and number(headers.get(name)) == 0
        for name in headers
    )


def _in_fields(fields: Iterable[tuple[str, object]], now_s: float) -> float | None:
    for name, value in fields:
        if name in _FIELD_MILLISECONDS and (wait_ms := number(value)) is not None:
            return wait_ms / 1000
        if name in _FIELD_SPANS and (wait_s := until_s(value, now_s)) is not None:
            return wait_s
    return None
