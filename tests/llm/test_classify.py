"""Whose fault a failed call is, by the bodies that endpoints really send: `error_bodies.jsonl`, a line each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.core import errors
from worker.core.errors import Culprit, OutputLimitTooLarge, QuotaExhausted, RateLimited, TransientError
from worker.core.records import Usage
from worker.llm.classify import from_status

NOW_S = 1_796_000_000.0
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("error_bodies.jsonl").read_text("utf-8").splitlines()
]


def said(message: str, **fields: Any) -> dict[str, Any]:
    """OpenAI's shape."""
    return {"error": {"message": message, **fields}}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['from']} {row['status']} {row['is']}")
def test_each_known_body_names_its_culprit(row: dict[str, Any]) -> None:
    error = from_status(row["status"], row["body"], {}, wall_now_s=NOW_S)
    assert type(error) is getattr(errors, row["is"]), error
    assert error.status == row["status"]
    unpaid = not isinstance(error, TransientError | errors.ContentFilter) or isinstance(error, RateLimited)
    assert (error.usage == Usage()) == unpaid
    if "limit" in row:
        assert isinstance(error, OutputLimitTooLarge)
        assert error.limit == row["limit"]


@pytest.mark.parametrize(
    ("status", "culprit"),
    [(429, Culprit.TRANSIENT), (500, Culprit.TRANSIENT), (503, Culprit.TRANSIENT), (400, Culprit.TRANSIENT),
     (422, Culprit.TRANSIENT), (401, Culprit.OPERATOR), (403, Culprit.OPERATOR), (404, Culprit.OPERATOR)],
)  # fmt: skip
@pytest.mark.parametrize("body", [None, "", "text", {}, [], 7, {"error": None}, {"error": {"message": None}}])
def test_a_status_alone_is_enough(status: int, culprit: Culprit, body: object) -> None:
    assert from_status(status, body, {}).culprit is culprit


def test_an_endpoint_without_tool_calls_is_told_with_a_dialect_that_works_there() -> None:
    error = from_status(400, said("m does not support tools"), {})
    assert "text dialect such as react_json" in error.message


def test_the_whole_fleet_pauses_for_a_limit_and_an_overload_only() -> None:
    pausing = {status for status in (408, 409, 429, 500, 502, 503, 504, 529)
               if getattr(from_status(status, None, {}), "pauses_endpoint", False)}  # fmt: skip
    assert pausing == {429, 503, 529}


def test_a_wait_beyond_reason_is_bounded_and_told() -> None:
    error = from_status(429, said("slow down"), {"retry-after": "9999999"})
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == 86_400
    assert "asked for 9999999 s, capped at 86400 s" in error.message


def test_a_long_page_becomes_a_short_sentence() -> None:
    page = "<!DOCTYPE html><html><style>body {color: red}</style><body><h1>Bad gateway</h1>" + "x " * 5000
    message = from_status(502, page, {}).message
    assert "Bad gateway" in message
    assert "color" not in message
    assert len(message) < 500


def test_given_keys_and_whatever_looks_like_one_are_taken_out() -> None:
    body = said("key abcd-efgh-1234 refused; Bearer eyJhbGciOi.abc; sk-proj-12345678; gsk-abcdef123")
    message = from_status(401, body, {}, secrets=["abcd-efgh-1234"]).message
    assert "key [key] refused; [key]; [key]; [key]" in message


def test_the_providers_full_stop_does_not_stand_before_what_to_do() -> None:
    error = from_status(401, said("Incorrect API key provided."), {})
    assert error.message == "the model endpoint answered 401: Incorrect API key provided; check the API key"


@pytest.mark.parametrize(
    ("status", "body", "kind", "wait_s"),
    [
        (429, said("Rate limit reached. Please try again in 1m2.5s."), RateLimited, 62.5),
        (429, [said("Quota", details=[{"@type": "google.rpc.RetryInfo", "retryDelay": "55s"}])], RateLimited, 55.0),
        (429, said("Daily free limit reached. It resets at 2026-11-30T04:40:00Z"), QuotaExhausted, 13_600.0),
        (400, said("You have reached your API usage limits. Access returns on 2026-12-30"), QuotaExhausted, 86_400.0),
    ],
)
def test_the_error_says_when_to_come_back(
    status: int, body: object, kind: type[RateLimited | QuotaExhausted], wait_s: float
) -> None:
    error = from_status(status, body, {}, wall_now_s=NOW_S)
    assert isinstance(error, kind)
    assert error.retry_after_s == pytest.approx(wait_s)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(["error", "code", "message", "msg", "type", "details", "base_resp", "status_code", "loc"])
        | st.text(max_size=5), inner, max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@settings(deadline=None)
@given(st.integers(100, 599), json_values, st.dictionaries(st.sampled_from(["retry-after", "date"]), st.text()))
def test_any_body_becomes_a_short_error(status: int, body: object, headers: dict[str, str]) -> None:
    error = from_status(status, body, headers)
    assert len(error.message) < 700
