"""The server on a real port, spoken to with the openai client."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import openai
import pytest

from tests.practice.clients import client_of
from tests.practice.conversations import native_tools, opening
from worker.practice import Config, Control, serve


@pytest.fixture(scope="module")
def server() -> Iterator[Control]:
    with serve() as control:
        yield control


@pytest.fixture
def practice(server: Control) -> Control:
    """The same server for each test, as new."""
    server.control(**Config().as_json() | {"api_key": None}, reset=True)
    return server


def test_a_completion_has_the_shape_of_the_chat_api(practice: Control) -> None:
    with client_of(practice) as client:
        completion = client.chat.completions.create(**opening("What is 3 + 4?") | {"model": "some-model"})
    assert completion.model == "some-model"
    assert completion.choices[0].finish_reason == "stop"
    content = completion.choices[0].message.content or ""
    assert content.endswith('Action: calculator\nAction Input: {"expression": "3 + 4"}')
    assert completion.usage is not None
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens > 0


def test_native_tool_calls_come_in_the_api_s_own_field(practice: Control) -> None:
    with client_of(practice) as client:
        question = "Use calculator(expression='3 + 4') and current_time(timezone='Europe/Rome')."
        completion = client.chat.completions.create(**opening(question, "native"))
    choice = completion.choices[0]
    assert choice.finish_reason == "tool_calls"
    calls = [json.loads(call.to_json())["function"] for call in choice.message.tool_calls or []]
    assert calls == [
        {"name": "calculator", "arguments": '{"expression": "3 + 4"}'},
        {"name": "current_time", "arguments": '{"timezone": "Europe/Rome"}'},
    ]


@pytest.mark.parametrize("form", ["react_json", "native"])
def test_a_stream_gives_the_same_as_a_whole_reply_with_usage_last(practice: Control, form: str) -> None:
    request = opening("What is 3 + 4?", form)
    with client_of(practice) as client:
        whole = client.chat.completions.create(**request)
        chunks = list(client.chat.completions.create(**request, stream=True, stream_options={"include_usage": True}))
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == (whole.choices[0].message.content or "")
    arguments = "".join(
        (call.function.arguments or "") for delta in deltas for call in delta.tool_calls or [] if call.function
    )
    assert arguments == ('{"expression": "3 + 4"}' if form == "native" else "")
    assert chunks[-1].usage is not None
    assert whole.usage is not None
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens


def test_models_are_listed(practice: Control) -> None:
    with client_of(practice) as client:
        names = [model.id for model in client.models.list()]
    assert "practice" in names
    assert len(names) > 1


def test_a_prompt_s_known_beginning_counts_as_cached(practice: Control) -> None:
    with client_of(practice) as client:
        first = client.chat.completions.create(**opening("What is 3 + 4?"))
        second = client.chat.completions.create(**opening("What is 5 + 6?"))
    assert first.usage and second.usage
    assert first.usage.prompt_tokens_details and second.usage.prompt_tokens_details
    assert first.usage.prompt_tokens_details.cached_tokens == 0
    assert 0 < (second.usage.prompt_tokens_details.cached_tokens or 0) < second.usage.prompt_tokens


def test_stop_sequences_and_token_limits_cut_the_reply(practice: Control) -> None:
    with client_of(practice) as client:
        stopped = client.chat.completions.create(**opening("What is 3 + 4?"), stop=["\nAction Input:"])
        short = client.chat.completions.create(**opening("What is 3 + 4?"), max_tokens=3)
    assert (stopped.choices[0].message.content or "").endswith("Action: calculator")
    assert short.choices[0].finish_reason == "length"
    assert short.usage
    assert short.usage.completion_tokens <= 3


@pytest.mark.parametrize(
    ("body", "status"), [(b"{", 400), (b"[]", 400), (b'{"messages": 3}', 400), (b'{"messages": [], "model": "m"}', 200)]
)
def test_a_body_that_cannot_be_read_gets_a_400(practice: Control, body: bytes, status: int) -> None:
    response = httpx2.post(f"{practice.base_url}/chat/completions", content=body, trust_env=False)
    assert response.status_code == status
    assert ("error" in response.json()) == (status == 400)


def test_bytes_that_are_no_request_end_the_connection_and_nothing_else(practice: Control) -> None:
    host, port = practice.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\ncontent-length: many\r\n\r\n")
        assert b"400 Bad Request" in raw.recv(1000)
    assert practice.stats()["requests"] == 0


def test_a_bug_of_ours_is_a_server_error_and_the_next_request_is_served(
    practice: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("a bug")

    with client_of(practice) as client:
        with monkeypatch.context() as patched:
            patched.setattr("worker.practice.app.complete", broken)
            with pytest.raises(openai.InternalServerError, match="practice model failed"):
                client.chat.completions.create(**opening("What is 3 + 4?"))
        assert client.chat.completions.create(**opening("What is 3 + 4?")).choices
    assert practice.stats()["in_flight"] == 0


def test_an_unknown_path_is_told_so(practice: Control) -> None:
    with pytest.raises(ValueError, match="There is no GET /nowhere"):
        Control(f"{practice.url}/nowhere").ledger()


def test_the_ledger_knows_each_request_by_its_id(practice: Control) -> None:
    with client_of(practice) as client:
        usage = client.chat.completions.create(**opening("What is 3 + 4?"), extra_headers={"x-request-id": "one"}).usage
        client.chat.completions.create(**opening("What is 5 + 6?"), extra_headers={"x-request-id": "two"})
    (entry,) = practice.ledger("one")
    assert usage
    assert (entry["prompt_tokens"], entry["completion_tokens"]) == (usage.prompt_tokens, usage.completion_tokens)
    assert (entry["status"], entry["outcome"], entry["model"], entry["form"]) == (200, "ok", "practice", "react_json")
    assert entry["started_mono_s"] <= entry["finished_mono_s"]
    assert not entry["client_gone"]
    assert [one["request_id"] for one in practice.ledger(after=1)] == ["two"]


def test_the_ledger_keeps_messages_only_where_asked(practice: Control) -> None:
    request = opening("What is 3 + 4?")
    with client_of(practice) as client:
        client.chat.completions.create(**request)
        practice.control(keep_messages=True)
        client.chat.completions.create(**request)
    without, kept = practice.ledger()
    assert without["messages"] is None
    assert kept["messages"] == request["messages"]
    assert kept["reply"]["role"] == "assistant"


def test_a_setting_that_is_wrong_is_refused_and_changes_nothing(practice: Control) -> None:
    before = practice.control()
    for wrong in ({"latency": "soon"}, {"faults": ["gremlins"]}, {"untidy": ["muddy"]}, {"colour": "red"}):
        with pytest.raises(ValueError, match=r"latency|unknown|no setting"):
            practice.control(**wrong)
    assert practice.control() == before


def test_latency_is_kept(practice: Control) -> None:
    practice.control(latency="0.2")
    started = time.monotonic()
    with client_of(practice) as client:
        client.chat.completions.create(**opening("What is 3 + 4?"))
    assert 0.2 <= time.monotonic() - started < 2


def test_a_key_that_is_not_the_right_one_is_refused(practice: Control) -> None:
    practice.control(api_key="right")
    with client_of(practice, api_key="wrong") as client, pytest.raises(openai.AuthenticationError):
        client.chat.completions.create(**opening("What is 3 + 4?"))
    with client_of(practice, api_key="right") as client:
        assert client.chat.completions.create(**opening("What is 3 + 4?")).choices


def test_an_endpoint_may_support_neither_tools_nor_temperature(practice: Control) -> None:
    practice.control(tools_supported=False, refused_fields=["temperature"])
    with client_of(practice) as client:
        with pytest.raises(openai.BadRequestError, match="does not support tools"):
            client.chat.completions.create(**opening("x"), tools=native_tools())  # type: ignore[arg-type]
        with pytest.raises(openai.BadRequestError, match="temperature") as caught:
            client.chat.completions.create(**opening("x"), temperature=0)
    assert caught.value.code == "unsupported_parameter"


def test_it_serves_more_than_five_hundred_requests_in_a_second_of_one_core(practice: Control) -> None:
    host, port = practice.url.removeprefix("http://").split(":")
    body = json.dumps(opening("What is 3 + 4?")).encode()
    request = b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)

    def hammer(count: int) -> int:
        answered = 0
        with socket.create_connection((host, int(port)), timeout=10) as raw, raw.makefile("rb") as stream:
            for _ in range(count):
                raw.sendall(request)
                answered += _read_reply(stream)
        return answered

    used_s = time.process_time()  # of server and clients together; wall time would measure the neighbours too
    with ThreadPoolExecutor(4) as pool:
        answered = sum(pool.map(hammer, [250] * 4))
    assert answered == 1000
    assert answered / (time.process_time() - used_s) > 500


def _read_reply(stream: Any) -> bool:
    status, length = stream.readline(), 0
    while (line := stream.readline()) != b"\r\n":
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return b"200" in status and len(stream.read(length)) == length
