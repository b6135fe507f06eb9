"""Retry times, in every form that providers use."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.llm.errorbody import read_error
from worker.llm.retryafter import MAX_RETRY_AFTER_S, asked_to_wait, retry_after

NOW_S = datetime(2026, 11, 29, 20, 53, 20, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({}, None),
        ({"retry-after": "20"}, 20.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": " 3 "}, 3.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "20"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "20"}, 20.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, MAX_RETRY_AFTER_S),
        ({"retry-after": "86401"}, MAX_RETRY_AFTER_S),
        ({"retry-after": "Sun, 29 Nov 2026 20:54:20 GMT"}, 60.0),
        ({"retry-after": "Sun, 29 Nov 2026 20:00:00 GMT"}, 0.0),
        ({"retry-after": "Sun, 29 Nov 9999 20:00:00 GMT"}, MAX_RETRY_AFTER_S),
    ],
)
def test_the_wait_is_read(headers: dict[str, str], wait_s: float | None) -> None:
    assert retry_after(headers, NOW_S).wait_s == wait_s


def test_a_date_counts_from_the_servers_own_clock() -> None:
    headers = {"retry-after": "Mon, 30 Nov 2026 08:00:30 GMT", "date": "Mon, 30 Nov 2026 08:00:00 GMT"}
    assert retry_after(headers, NOW_S).wait_s == 30.0


def test_a_bounded_wait_is_told_and_a_sane_one_is_not() -> None:
    assert "capped at 86400 s" in retry_after({"retry-after": "100000"}).note
    assert retry_after({"retry-after": "100"}).note == ""


def error_with(said: str, **fields: object) -> dict[str, object]:
    return {"error": {"message": said, **fields}}


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"x-ratelimit-reset-tokens": "1m30s", "x-ratelimit-remaining-tokens": "0"}, 90.0),
        ({"x-ratelimit-reset-requests": "6ms"}, 0.006),
        ({"x-ratelimit-reset": str(int(NOW_S) + 30)}, 30.0),
        ({"x-ratelimit-reset": str(int(NOW_S + 30) * 1000)}, 30.0),
        ({"anthropic-ratelimit-requests-reset": "2026-11-29T20:54:20Z"}, 60.0),
        ({"x-ratelimit-reset-tokens": "5s", "x-ratelimit-remaining-tokens": "90"}, None),
        ({"x-ratelimit-reset-tokens": "5s", "x-ratelimit-remaining-tokens": "0",
          "x-ratelimit-reset-requests": "9m", "x-ratelimit-remaining-requests": "7"}, 5.0),
        ({"x-ratelimit-reset-tokens": "5s", "retry-after": "7"}, 7.0),
        ({"x-ratelimit-reset": "soon"}, None),
    ],
)  # fmt: skip
def test_only_the_used_up_resource_says_when(headers: dict[str, str], wait_s: float | None) -> None:
    assert retry_after(headers, NOW_S).wait_s == pytest.approx(wait_s)


@pytest.mark.parametrize(
    ("body", "wait_s"),
    [
        (error_with("Please try again in 1m2.5s."), 62.5),
        (error_with("Please retry after 30 seconds"), 30.0),
        (error_with("Try again in about an hour"), 3600.0),
        (error_with("wait 5 minutes before the next call"), 300.0),
        (error_with("resets at 2026-11-29T21:53:20Z"), 3600.0),
        (error_with("You will regain access on 2026-11-30 at 00:00 UTC."), 11_200.0),
        (error_with("The free limit resets at midnight UTC"), 11_200.0),
        (error_with("Closed for works; the service returns at 22:00 UTC"), 4000.0),
        (error_with("It reset at 2026-11-29T10:00:00Z"), None),
        (error_with("请在 30 秒后重试"), 30.0),
        (error_with("Vuelva a intentarlo en 30 segundos"), 30.0),
        (error_with("slow down", retry_after=12), 12.0),
        (error_with("slow down", details=[{"retryDelay": "55s"}]), 55.0),
        (error_with("slow down", details=[{"retryDelay": {"seconds": 55}}]), 55.0),
        (error_with("slow down", retry_after_ms=1500), 1.5),
        (error_with("slow down", resets_at=NOW_S + 90), 90.0),
        (error_with("x", metadata={"headers": {"X-RateLimit-Reset": str(int(NOW_S + 40) * 1000)}}), 40.0),
        (error_with("There are 3 models, try again"), None),
        (error_with("Please try again later"), None),
        ("try again in 20s", 20.0),
        (None, None),
    ],
)
def test_the_body_says_when_to_come_back(body: object, wait_s: float | None) -> None:
    assert asked_to_wait({}, body, read_error(body), NOW_S).wait_s == pytest.approx(wait_s)


spans = st.text("0123456789.smhd :-TZ", max_size=12) | st.text(max_size=12)


@settings(deadline=None)
@given(st.sampled_from(["try again in ", "resets at ", "retry after ", ""]), spans, spans)
def test_no_wish_raises_or_is_negative_or_beyond_a_day(before: str, said: str, header: str) -> None:
    body = error_with(before + said, retry_after=header)
    for name in ("retry-after", "retry-after-ms", "x-ratelimit-reset"):
        for asked in (retry_after({name: header}, NOW_S), asked_to_wait({name: said}, body, read_error(body), NOW_S)):
            assert asked.wait_s is None or 0.0 <= asked.wait_s <= MAX_RETRY_AFTER_S
