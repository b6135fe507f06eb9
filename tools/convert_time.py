"""Converts a time from one place's clock to another's."""

from __future__ import annotations

from datetime import datetime, timedelta

from tools.base import tool
from tools.kit.zones import describe, read_moment, zone


@tool(timeout_s=10.0, idempotent=True)
def convert_time(time: str, from_timezone: str, to_timezone: str) -> str:
    """Converts a time from one time zone to another, and tells the difference between them.

    Args:
        time: "now", "15:30", "3 pm", or a date and time such as "2026-12-01 15:30"; a time alone means today.
        from_timezone: The zone that `time` is in: an IANA name, a large city, or an offset such as "UTC+8".
        to_timezone: The zone wanted, written in the same way.

    Returns:
        Both times with weekday and date, and how far apart the clocks are.
    """
    start = read_moment(time, zone(from_timezone)).astimezone(zone(from_timezone))
    end = start.astimezone(zone(to_timezone))
    return f"{describe(start)} is {describe(end)}. The clocks there are {_difference(start, end)}."


def _difference(start: datetime, end: datetime) -> str:
    ahead = (end.utcoffset() or timedelta()) - (start.utcoffset() or timedelta())
    minutes = abs(int(ahead.total_seconds())) // 60
    if not minutes:
        return "the same"
    parts = [f"{minutes // 60} h" if minutes >= 60 else "", f"{minutes % 60} min" if minutes % 60 else ""]
    return f"{' '.join(part for part in parts if part)} {'ahead' if ahead > timedelta() else 'behind'}"
