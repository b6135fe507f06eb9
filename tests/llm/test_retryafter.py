"""How long a provider asks to be left alone, in every form it may say it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from worker.llm.retryafter import MAX_RETRY_AFTER_S, retry_after

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
    assert "bounded to 86400 s" in retry_after({"retry-after": "100000"}).note
    assert retry_after({"retry-after": "100"}).note == ""
