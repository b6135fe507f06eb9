"""The current time and weekday, anywhere."""

from __future__ import annotations

from tools.base import tool
from tools.kit.zones import describe, utc_now, zone


@tool(timeout_s=10.0, idempotent=True)
def current_time(timezone: str = "UTC") -> str:
    """Tells the present date, weekday and time. Use it whenever a question depends on now, today or this week.

    Args:
        timezone: An IANA time zone such as "Asia/Shanghai", a large city, or an offset such as "UTC+8".

    Returns:
        Weekday, date, time and the zone with its offset.
    """
    return describe(utc_now().astimezone(zone(timezone)))
