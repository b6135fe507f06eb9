"""Reads durations and timestamps as headers and sentences write them. Pure: never raises, never returns NaN."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

EPOCH_S = 1e9
"""Numbers from here on are timestamps in seconds since 1970; smaller ones are durations."""

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_UNIT = (
    r"(?P<ms>ms|msecs?|milliseconds?|millis|毫秒)|(?P<s>s|secs?|seconds?|秒钟?|segundos?|secondes?|sekunden?)"
    r"|(?P<m>m|mins?|minutes?|分钟?|minutos?|minuten?)|(?P<h>h|hrs?|hours?|小时|horas?|heures?|stunden?)"
    r"|(?P<d>d|days?|天|días?|jours?|tagen?)"
)
_PART = re.compile(
    rf"(\d{{1,15}}(?:\.\d{{1,15}})?) ?(?:{_UNIT})(?![a-z])|(\d{{1,15}}(?:\.\d{{1,15}})?)(ms|[smhd])(?=\d)",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"(\d{1,3}):(\d\d):(\d\d)(?:\.\d+)?")
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[Tt ]| at )?(\d\d:\d\d(?::\d\d)?)?(?:\.\d+)? ?(Z|UTC|GMT|[+-]\d\d:?\d\d)?", re.IGNORECASE
)
_TIME_OF_DAY = re.compile(r"(?<!\d)\s(\d\d?):(\d\d)(?::\d\d)? ?(?:utc|gmt|z)(?![a-z])", re.IGNORECASE)
_MIDNIGHT = re.compile(r"midnight|(?<![\d:])00:00(?::00)? ?(?:utc|gmt)|(?:utc|gmt) 00:00", re.IGNORECASE)


def number(value: object) -> float | None:
    """Returns a number, also one written as text, but never NaN; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        read = float(value)
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(read) else read


def span_s(text: str) -> float | None:
    """Returns the seconds in "55s", "1m2.5s", "7m12s", "1 hour 5 minutes", "00:01:30"; None for any other text."""
    text = text.strip()
    if clock := _CLOCK.fullmatch(text):
        hours, minutes, seconds = map(int, clock.groups())
        return hours * 3600.0 + minutes * 60.0 + seconds
    total, end = 0.0, 0
    for part in _PART.finditer(text):
        between = re.sub(r"\b(?:and|y|et|und)\b", "", text[end : part.start()])
        if between.strip(" ,"):
            break
        amount, unit = part[1] or part[7], part[8] or part.lastgroup
        total, end = total + float(amount) * _UNITS_S[(unit or "s").lower()], part.end()
    return total if end else None


def moments_s(text: str, wall_now_s: float) -> Iterator[float]:
    """Yields the timestamps in a text, in seconds since 1970: ISO dates and times (UTC unless they say), midnight."""
    for day, clock, zone in _ISO.findall(text):
        if (moment := _iso_s(day, clock, zone)) is not None:
            yield moment
    for hour, minute in _TIME_OF_DAY.findall(text):
        if int(hour) < 24 and int(minute) < 60:
            yield _next_time_s(wall_now_s, int(hour), int(minute))
    if _MIDNIGHT.search(text):
        yield _next_time_s(wall_now_s, 0, 0)


def until_s(value: object, wall_now_s: float) -> float | None:
    """Returns the seconds until the time in a field or header: a duration, seconds, an epoch, an ISO or HTTP date."""
    read = number(value)
    if read is not None:
        return _until_number(read, wall_now_s)
    if not isinstance(value, str):
        return None
    span = span_s(value)
    if span is not None and not _ISO.match(value.strip()):
        return span
    moment = http_date_s(value) or next(moments_s(value, wall_now_s), None)
    return None if moment is None else moment - wall_now_s


def http_date_s(text: str | None) -> float | None:
    """Returns "Sun, 29 Nov 2026 20:54:20 GMT" in seconds since 1970."""
    try:
        return parsedate_to_datetime(text or "").timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _until_number(value: float, wall_now_s: float) -> float:
    if value >= EPOCH_S * 1000:
        return value / 1000 - wall_now_s
    return value - wall_now_s if value >= EPOCH_S else value


def _iso_s(day: str, clock: str, zone: str) -> float | None:
    offset = "+00:00" if zone.upper() in ("", "Z", "UTC", "GMT") else zone
    try:
        return datetime.fromisoformat(f"{day}T{clock or '00:00'}{offset}").timestamp()
    except (ValueError, OverflowError):
        return None


def _next_time_s(wall_now_s: float, hour: int, minute: int) -> float:
    """Returns when the clock next shows this time, in UTC."""
    now = datetime.fromtimestamp(wall_now_s, UTC)
    then = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return (then if then > now else then + timedelta(days=1)).timestamp()
