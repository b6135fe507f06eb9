"""Zones, conversions and date arithmetic, on a fixed clock."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import available_timezones

import pytest

from tools.base import ToolError
from tools.convert_time import convert_time
from tools.current_time import current_time
from tools.date_add import date_add
from tools.kit import zones

NOW = datetime(2026, 11, 30, 1, 40, 8, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("tools.kit.zones", "tools.current_time"):
        monkeypatch.setattr(f"{module}.utc_now", lambda: NOW)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("UTC", "Monday, 2026-11-30 01:40:08 (UTC, UTC+00:00)"),
        ("asia/shanghai", "Monday, 2026-11-30 09:40:08 (Asia/Shanghai, UTC+08:00)"),
        ("北京", "Monday, 2026-11-30 09:40:08 (Asia/Shanghai, UTC+08:00)"),
        ("New York", "Sunday, 2026-11-29 20:40:08 (America/New_York, UTC-05:00)"),
        ("UTC+5:30", "Monday, 2026-11-30 07:10:08 (UTC+05:30)"),
        ("Sao Paulo", "Sunday, 2026-11-29 22:40:08 (America/Sao_Paulo, UTC-03:00)"),
    ],
)
def test_the_time_in_a_zone_by_any_of_its_names(name: str, shown: str) -> None:
    assert current_time.call(name).observation == shown


def test_every_iana_zone_is_known() -> None:
    names = available_timezones()
    assert len(names) > 400
    assert [name for name in names if zones.zone(name).utcoffset(NOW.replace(tzinfo=None)) is None] == []


@pytest.mark.parametrize("name", ["Mars", "../../etc/passwd", "UTC+99", "CST", "a" * 500, "\x00"])
def test_an_unknown_zone_says_what_to_write(name: str) -> None:
    with pytest.raises(ToolError, match=r"Use an IANA name|no offset|Say which"):
        current_time.call({"timezone": name})


def test_a_time_is_converted_with_the_difference() -> None:
    said = convert_time.call({"time": "15:30", "from_timezone": "Beijing", "to_timezone": "New York"}).observation
    assert said == (
        "Monday, 2026-11-30 15:30:00 (Asia/Shanghai, UTC+08:00) is Monday, 2026-11-30 02:30:00 "
        "(America/New_York, UTC-05:00). The clocks there are 13 h behind."
    )


@pytest.mark.parametrize("text", ["2026-12-01 15:30", "2026-12-01T15:30:00", "2026-12-01T15:30+00:00"])
def test_moments_are_read_as_people_write_them(text: str) -> None:
    assert zones.read_moment(text, UTC) == datetime(2026, 12, 1, 15, 30, tzinfo=UTC)


@pytest.mark.parametrize("text", ["3 pm", "3:00 PM", "15:00", "15:00:00", "3 p.m."])
def test_a_clock_time_means_today(text: str) -> None:
    assert zones.read_moment(text, UTC) == datetime(2026, 11, 30, 15, tzinfo=UTC)


@pytest.mark.parametrize("text", ["noonish", "25:00", "2026-02-30", "tomorrowish"])
def test_a_moment_that_cannot_be_read_says_how_to_write_it(text: str) -> None:
    with pytest.raises(ToolError, match="Cannot read the time"):
        zones.read_moment(text, UTC)


def test_a_wall_time_that_the_clock_change_skips_is_refused() -> None:
    with pytest.raises(ToolError, match="does not exist"):
        zones.read_moment("2026-03-29 02:30", zones.zone("Europe/Berlin"))


@pytest.mark.parametrize(
    ("args", "result"),
    [
        ({"hours": 100}, "Friday, 2026-12-04 05:40:08 (UTC, UTC+00:00)"),
        ({"hours": -1.5}, "Monday, 2026-11-30 00:10:08 (UTC, UTC+00:00)"),
        ({"months": 1, "start": "2024-01-31"}, "Thursday, 2024-02-29 00:00:00 (UTC, UTC+00:00)"),
        ({"years": -1, "start": "2024-02-29"}, "Tuesday, 2023-02-28 00:00:00 (UTC, UTC+00:00)"),
        (
            {"hours": 1, "start": "2026-03-29 01:30", "timezone": "Berlin"},
            "Sunday, 2026-03-29 03:30:00 (Europe/Berlin, UTC+02:00)",
        ),
        (
            {"days": 1, "start": "2026-03-28 01:30", "timezone": "Berlin"},
            "Sunday, 2026-03-29 01:30:00 (Europe/Berlin, UTC+01:00)",
        ),
    ],
)
def test_dates_add_exactly(args: dict[str, object], result: str) -> None:
    assert date_add.call(args).observation.endswith(f"Result: {result}.")


@pytest.mark.parametrize("args", [{"days": 10**12}, {"years": 8000}, {"hours": 1e300}, {"months": -(10**9)}])
def test_sums_outside_the_calendar_are_refused(args: dict[str, object]) -> None:
    with pytest.raises(ToolError, match="years 1 to 9999"):
        date_add.call(args)
