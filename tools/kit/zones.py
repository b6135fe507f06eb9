"""Time zones by the names that people use, and times as people write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from tools.kit.cities import ZONES
from tools.kit.errors import ToolError

_OFFSET = re.compile(r"(?:utc|gmt)?\s*([+-])\s*(\d{1,2})(?::?(\d{2}))?", re.IGNORECASE)
_AMBIGUOUS = {
    "cst": "America/Chicago, Asia/Shanghai or America/Havana",
    "ist": "Asia/Kolkata, Asia/Jerusalem or Europe/Dublin",
    "bst": "Europe/London or Asia/Dhaka",
    "ast": "America/Halifax or Asia/Riyadh",
}
_ABBREVIATIONS = {
    "et": "America/New_York",
    "est": "America/New_York",
    "edt": "America/New_York",
    "ct": "America/Chicago",
    "pt": "America/Los_Angeles",
    "pst": "America/Los_Angeles",
    "pdt": "America/Los_Angeles",
    "cet": "Europe/Paris",
    "cest": "Europe/Paris",
    "jst": "Asia/Tokyo",
    "kst": "Asia/Seoul",
    "hkt": "Asia/Hong_Kong",
    "z": "UTC",
}
_TIME_FORMATS = ("%H:%M", "%H:%M:%S", "%I:%M%p", "%I%p", "%I:%M:%S%p")
_DATE_FORMATS = ("%Y/%m/%d", "%d %B %Y", "%B %d %Y", "%d %b %Y", "%b %d %Y", "%Y年%m月%d日")


def utc_now() -> datetime:
    """Returns the current time; tests replace this function."""
    return datetime.now(UTC)


def zone(name: str) -> tzinfo:
    """Returns an IANA zone in any case, a well-known city's in English or Chinese, or an offset such as UTC+8."""
    key = re.sub(r"[\s_]+", " ", name.strip()).casefold()
    if key in _AMBIGUOUS:
        raise ToolError(f'"{name}" names several time zones. Say which: {_AMBIGUOUS[key]}.')
    offset = _OFFSET.fullmatch(key)
    if offset:
        return _fixed(name, offset)
    iana = _zones_by_name().get(key) or ZONES.get(key) or _ABBREVIATIONS.get(key) or _zones_by_city().get(key)
    if iana is None:
        raise ToolError(
            f'Unknown time zone "{name}". Use an IANA name such as Europe/Paris, or an offset such as UTC+8.'
        )
    return ZoneInfo(iana)


def _fixed(name: str, offset: re.Match[str]) -> tzinfo:
    span = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
    if span > timedelta(hours=14) or int(offset[3] or 0) > 59:
        raise ToolError(f'"{name}" is no offset that is in use: they go from UTC-12 to UTC+14.')
    return timezone(span if offset[1] == "+" else -span)


@cache
def _zones_by_name() -> dict[str, str]:
    return {name.replace("_", " ").casefold(): name for name in available_timezones()}


@cache
def _zones_by_city() -> dict[str, str]:
    """Maps the last part of each zone name to the zone; leaves out parts that two zones share."""
    found: dict[str, set[str]] = {}
    for key, name in _zones_by_name().items():
        if "/" in key and not key.startswith(("etc/", "systemv/", "us/")):
            found.setdefault(key.rsplit("/", 1)[1], set()).add(name)
    return {city: names.pop() for city, names in found.items() if len(names) == 1}


def describe(moment: datetime) -> str:
    """Writes a time as `Monday, 2026-11-30 01:40:08 (Asia/Shanghai, UTC+08:00)`."""
    shown = f"{moment:%A, %Y-%m-%d %H:%M:%S}"
    return f"{shown} ({zone_label(moment)})"


def zone_label(moment: datetime) -> str:
    """Returns the zone's name with its offset at this time."""
    offset = f"UTC{moment:%z}"
    offset = f"{offset[:6]}:{offset[6:8]}"
    name = getattr(moment.tzinfo, "key", None)
    return f"{name}, {offset}" if name else offset


def read_moment(text: str, home: tzinfo) -> datetime:
    """Reads `now`, an ISO date or date and time (its own offset wins), `15:30` or `3 pm` today, in the zone `home`.

    Raises ToolError if it cannot be read, or for a wall time that a clock change skips.
    """
    cleaned = re.sub(r"\s+", " ", text.strip().rstrip("."))
    if cleaned.casefold() in {"now", "today", "现在", ""}:
        return utc_now().astimezone(home)
    found = _iso(cleaned) or _clock(cleaned, home) or _date(cleaned)
    if found is None:
        raise ToolError(f'Cannot read the time "{text}". Write "now", "15:30", "2026-12-01" or "2026-12-01 15:30".')
    return found if found.tzinfo else _on_the_wall(found, home)


def _on_the_wall(found: datetime, home: tzinfo) -> datetime:
    moment = found.replace(tzinfo=home)
    if moment.astimezone(UTC).astimezone(home).replace(tzinfo=None) != found:
        raise ToolError(f"{found:%Y-%m-%d %H:%M} does not exist in {home}: the clocks are put forward over it.")
    return moment


def _iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _clock(text: str, home: tzinfo) -> datetime | None:
    compact = text.upper().replace(" ", "").replace(".", "").replace("：", ":")
    for form in _TIME_FORMATS:
        parsed = _parsed(compact, form)
        if parsed:
            return datetime.combine(utc_now().astimezone(home).date(), parsed.time())
    return None


def _date(text: str) -> datetime | None:
    cleaned = text.replace(",", "")
    for form in _DATE_FORMATS:
        parsed = _parsed(cleaned, form)
        if parsed:
            return datetime.combine(parsed.date(), time())
    return None


def _parsed(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text, form)
    except ValueError:
        return None
