"""Adds time to a date, exactly: hours are elapsed time, days and months go by the calendar."""

from __future__ import annotations

import calendar
from datetime import UTC, datetime, timedelta

from tools.base import ToolError, tool
from tools.kit.zones import describe, read_moment, zone


@tool(timeout_s=10.0, idempotent=True)
def date_add(
    years: int = 0,
    months: int = 0,
    weeks: int = 0,
    days: int = 0,
    hours: float = 0,
    minutes: float = 0,
    seconds: float = 0,
    start: str = "now",
    timezone: str = "UTC",
) -> str:
    """Adds time to a date, for example 100 hours from now; negative amounts go back. Use it for all sums with dates.

    Years, months, weeks and days keep the time of day; hours, minutes and seconds are elapsed time, also when the
    clocks change in between.

    Args:
        start: "now", or a date such as "2026-12-01", or a date and time such as "2026-12-01 15:30".
        timezone: The zone of `start` and of the result: an IANA name, a large city, or an offset such as "UTC+8".

    Returns:
        The start and the resulting moment, each with its weekday.
    """
    home = zone(timezone)
    begin = read_moment(start, home).astimezone(home)
    try:
        calendar_days = _add_months(begin, years * 12 + months) + timedelta(weeks=weeks, days=days)
        elapsed = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        end = (calendar_days.astimezone(UTC) + elapsed).astimezone(home)
    except (OverflowError, ValueError) as error:
        raise ToolError("The result lies outside the years 1 to 9999; use smaller amounts.") from error
    return f"Start: {describe(begin)}. Result: {describe(end)}."


def _add_months(moment: datetime, months: int) -> datetime:
    """Returns the same day of another month, or that month's last day if it is shorter."""
    years, month0 = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    if not 1 <= years <= 9999:
        raise OverflowError
    last = calendar.monthrange(years, month0 + 1)[1]
    return moment.replace(year=years, month=month0 + 1, day=min(moment.day, last))
