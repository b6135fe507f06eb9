"""How long a provider asks to be left alone: `retry-after-ms`, or `retry-after` in seconds or as a date."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

MAX_RETRY_AFTER_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Asked:
    """`wait_s` is None when nothing (readable) was asked for. `note` tells when the wish was bounded, else ""."""

    wait_s: float | None = None
    note: str = ""


def retry_after(headers: Mapping[str, str], wall_now_s: float | None = None) -> Asked:
    """Reads case-insensitive headers. A date counts from the response's own `Date`, so that clocks need not agree."""
    wait_s = _number(headers.get("retry-after-ms"), 0.001)
    if wait_s is None:
        wait_s = _number(headers.get("retry-after"), 1.0)
    if wait_s is None:
        wait_s = _until(headers, time.time() if wall_now_s is None else wall_now_s)
    if wait_s is None:
        return Asked()
    if wait_s > MAX_RETRY_AFTER_S:
        return Asked(MAX_RETRY_AFTER_S, f"asked for {wait_s:.0f} s, bounded to {MAX_RETRY_AFTER_S:.0f} s")
    return Asked(max(0.0, wait_s))


def _number(text: str | None, unit_s: float) -> float | None:
    try:
        value = float(text or "") * unit_s
    except ValueError:
        return None
    return None if math.isnan(value) else value


def _until(headers: Mapping[str, str], wall_now_s: float) -> float | None:
    until_s = _date(headers.get("retry-after"))
    if until_s is None:
        return None
    served_s = _date(headers.get("date"))
    return until_s - (wall_now_s if served_s is None else served_s)


def _date(text: str | None) -> float | None:
    try:
        return parsedate_to_datetime(text or "").timestamp()
    except (ValueError, OverflowError, OSError):
        return None
