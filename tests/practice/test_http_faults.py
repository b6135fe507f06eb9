"""Each fault as a client sees it, and what the ledger records."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import openai
import pytest

from tests.practice.clients import client_of
from tests.practice.conversations import opening
from tests.services.waiting import wait_until
from worker.practice import Config, Control, serve

DATE = "Wed, 21 Oct 2026 07:28:00 GMT"
QUESTION = opening("What is 3 + 4?")


@pytest.fixture(scope="module")
def server() -> Iterator[Control]:
    with serve() as control:
        yield control


@pytest.fixture
def practice(server: Control) -> Control:
    """The same server for each test, as new."""
    server.control(**Config().as_json() | {"api_key": None}, reset=True)
    return server


def settled(practice: Control) -> list[dict[str, Any]]:
    """The ledger, once every request in it has ended."""
    wait_until("every request has ended", lambda: practice.stats()["in_flight"] == 0)
    return practice.ledger()


@pytest.mark.parametrize(
    ("kind", "error", "status", "code"),
    [
        ("429", openai.RateLimitError, 429, "rate_limit_exceeded"),
        ("quota", openai.RateLimitError, 429, "insufficient_quota"),
        ("500", openai.InternalServerError, 500, "server_error"),
        ("503", openai.InternalServerError, 503, "overloaded"),
        ("401", openai.AuthenticationError, 401, "invalid_api_key"),
        ("403", openai.PermissionDeniedError, 403, "permission_denied"),
        ("404", openai.NotFoundError, 404, "model_not_found"),
        ("context_length", openai.BadRequestError, 400, "context_length_exceeded"),
        ("filtered_prompt", openai.BadRequestError, 400, "content_filter"),
    ],
)
def test_a_refusal_has_the_api_s_error_shape_and_costs_nothing(
    practice: Control, kind: str, error: type[openai.APIStatusError], status: int, code: str
) -> None:
    practice.control(script=[kind])
    with client_of(practice) as client:
        with pytest.raises(error) as caught:
            client.chat.completions.create(**QUESTION)
        assert (caught.value.status_code, caught.value.code) == (status, code)
        assert client.chat.completions.create(**QUESTION).choices
    refused, served = settled(practice)
    assert (refused["status"], refused["prompt_tokens"], refused["completion_tokens"]) == (status, 0, 0)
    assert (served["status"], served["outcome"]) == (200, "ok")


@pytest.mark.parametrize(
    ("fault", "headers"),
    [
        ({"kind": "429"}, {"retry-after": "1"}),
        ({"kind": "429", "retry_after": "7"}, {"retry-after": "7"}),
        ({"kind": "503", "retry_after": DATE}, {"retry-after": DATE}),
        ({"kind": "429", "retry_after_ms": 250}, {"retry-after-ms": "250"}),
    ],
)  # fmt: skip
def test_a_rate_limit_says_when_to_come_again(
    practice: Control, fault: dict[str, Any], headers: dict[str, str]
) -> None:
    practice.control(faults=[fault])
    with client_of(practice) as client, pytest.raises(openai.APIStatusError) as caught:
        client.chat.completions.create(**QUESTION)
    said = {name: caught.value.response.headers.get(name) for name in ("retry-after", "retry-after-ms")}
    assert {name: value for name, value in said.items() if value} == headers


def test_a_time_out_never_answers_and_is_seen_when_the_client_leaves(practice: Control) -> None:
    practice.control(script=["timeout"])
    with client_of(practice, timeout_s=0.3) as client, pytest.raises(openai.APITimeoutError):
        client.chat.completions.create(**QUESTION)
    (entry,) = settled(practice)
    assert (entry["status"], entry["outcome"], entry["client_gone"]) == (0, "timeout", True)
    assert entry["prompt_tokens"] > 0


def test_dripping_bytes_outlast_a_read_time_out(practice: Control) -> None:
    practice.control(faults=[{"kind": "drip", "seconds": 0.001}])
    started = time.monotonic()
    with client_of(practice, timeout_s=0.3) as client:
        completion = client.chat.completions.create(**QUESTION)
    assert completion.choices[0].message.content
    assert time.monotonic() - started > 0.3
    assert settled(practice)[0]["outcome"] == "drip"


@pytest.mark.parametrize("kind", ["drop", "drop_mid"])
def test_a_dropped_connection_is_a_connection_error_and_is_billed(practice: Control, kind: str) -> None:
    practice.control(script=[kind])
    with client_of(practice) as client, pytest.raises((openai.APIConnectionError, httpx2.RemoteProtocolError)):
        client.chat.completions.create(**QUESTION)
    (entry,) = settled(practice)
    assert (entry["outcome"], entry["client_gone"]) == (kind, False)
    assert entry["completion_tokens"] > 0


def test_a_cut_stream_ends_before_its_end(practice: Control) -> None:
    practice.control(script=["cut_stream"])
    got: list[Any] = []
    with client_of(practice) as client, pytest.raises((openai.APIConnectionError, httpx2.RemoteProtocolError)):
        got.extend(client.chat.completions.create(**QUESTION, stream=True))
    assert got
    assert all(chunk.choices[0].finish_reason is None for chunk in got)


def test_a_body_that_is_not_json_is_sent_where_asked(practice: Control) -> None:
    practice.control(script=["garbage"])
    with client_of(practice) as client:
        raw = client.chat.completions.with_raw_response.create(**QUESTION)
    assert raw.http_response.content.startswith(b"<html>")


@pytest.mark.parametrize(
    ("kind", "finish", "content"),
    [("content_filter", "content_filter", ""), ("empty", "stop", ""), ("refusal", "stop", None)],
)
def test_a_reply_may_hold_nothing(practice: Control, kind: str, finish: str, content: str | None) -> None:
    practice.control(script=[kind])
    with client_of(practice) as client:
        choice = client.chat.completions.create(**QUESTION).choices[0]
    assert (choice.finish_reason, choice.message.content) == (finish, content)
    assert bool(choice.message.refusal) == (kind == "refusal")


def test_a_reply_may_be_cut_at_its_length(practice: Control) -> None:
    practice.control(script=["length", "ok"])
    with client_of(practice) as client:
        cut, whole = (client.chat.completions.create(**QUESTION).choices[0] for _ in range(2))
    assert cut.finish_reason == "length"
    assert (whole.message.content or "").startswith(cut.message.content or "?")


def test_a_prompt_over_the_context_window_is_refused_with_the_numbers(practice: Control) -> None:
    practice.control(context_window=50)
    with client_of(practice) as client, pytest.raises(openai.BadRequestError, match="maximum context length is 50"):
        client.chat.completions.create(**QUESTION)
    assert settled(practice)[0]["outcome"] == "context_length"


def test_models_may_be_a_closed_list(practice: Control) -> None:
    practice.control(models=["only"], strict_models=True)
    with client_of(practice) as client:
        with pytest.raises(openai.NotFoundError, match="`practice` does not exist"):
            client.chat.completions.create(**QUESTION)
        assert client.chat.completions.create(**QUESTION | {"model": "only"}).choices


def test_a_fault_may_strike_one_model_or_some_words_and_only_so_often(practice: Control) -> None:
    practice.control(faults=[{"kind": "500", "model": "a", "times": 1}, {"kind": "503", "match": "5 + 6"}])
    with client_of(practice) as client:
        assert client.chat.completions.create(**QUESTION | {"model": "b"}).choices
        with pytest.raises(openai.InternalServerError):
            client.chat.completions.create(**QUESTION | {"model": "a"})
        assert client.chat.completions.create(**QUESTION | {"model": "a"}).choices
        with pytest.raises(openai.InternalServerError):
            client.chat.completions.create(**opening("What is 5 + 6?"))


def test_requests_over_the_rate_are_refused_and_the_most_in_a_window_is_known(practice: Control) -> None:
    practice.control(limits={"rpm": 3, "window_s": 30}, model_limits={"free": {}})
    with client_of(practice) as client:
        for _ in range(3):
            client.chat.completions.create(**QUESTION)
        with pytest.raises(openai.RateLimitError) as caught:
            client.chat.completions.create(**QUESTION)
        assert client.chat.completions.create(**QUESTION | {"model": "free"}).choices
    assert 0 < int(caught.value.response.headers["retry-after"]) <= 30
    seen = practice.stats()["models"]["practice"]
    assert (seen["admitted_most_in_window"], seen["arrived_most_in_window"], seen["refused"]) == (3, 4, 1)


def test_calls_at_a_time_are_limited_and_the_most_is_known(practice: Control) -> None:
    practice.control(limits={"concurrency": 2}, latency="0.3")

    def ask(_: int) -> int:
        with client_of(practice) as client:
            try:
                client.chat.completions.create(**QUESTION)
            except openai.RateLimitError:
                return 429
        return 200

    with ThreadPoolExecutor(4) as pool:
        statuses = sorted(pool.map(ask, range(4)))
    assert statuses.count(200) >= 2
    assert statuses.count(429) >= 1
    assert practice.stats()["models"]["practice"]["in_flight_most"] == 2


def test_faults_by_rate_follow_the_seed(practice: Control) -> None:
    def outcomes() -> list[str]:
        practice.control(faults=["500:0.5"], seed=7, reset=True)
        with client_of(practice) as client:
            for _ in range(20):
                try:
                    client.chat.completions.create(**QUESTION)
                except openai.InternalServerError:
                    continue
        return [entry["outcome"] for entry in settled(practice)]

    first = outcomes()
    assert first == outcomes()
    assert {"ok", "server_error"} == set(first)


def test_an_untidy_reply_is_marked_and_a_correction_is_answered_tidily(practice: Control) -> None:
    practice.control(untidy="prose")
    corrected = opening("What is 3 + 4?")
    corrected["messages"] += [
        {"role": "assistant", "content": "Let me think."},
        {"role": "user", "content": "Your reply could not be read."},
    ]
    with client_of(practice) as client:
        untidy = client.chat.completions.create(**QUESTION).choices[0].message.content
        tidy = client.chat.completions.create(**corrected).choices[0].message.content
    assert "Action" not in (untidy or "")
    assert "Action: calculator" in (tidy or "")
    assert [entry["untidy"] for entry in settled(practice)] == ["prose", None]
