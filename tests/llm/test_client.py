"""One chat completion: what is sent, what comes back, and what is reported if it fails."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any

import pytest

from tests.llm.servers import Connection, RawServer, answering, completion, http, serving
from worker.core.errors import (
    BadReply,
    CallEnded,
    ConnectionLost,
    ContentFilter,
    ContextOverflow,
    RateLimited,
    Unreachable,
    UserError,
)
from worker.core.records import Usage
from worker.llm.client import ModelClient
from worker.llm.endpoint import ModelRequest
from worker.llm.watchdog import Abort

SECRET = "sk-proj-very-secret-0123456789"
MESSAGES = [{"role": "user", "content": "hi"}]
GOOD = http(200, completion())


def ask(server: RawServer, request: ModelRequest | None = None, key: str | None = SECRET) -> Any:
    client = ModelClient(server.base_url, key)
    try:
        return client.complete(request or ModelRequest("m", MESSAGES), 10, Abort())
    finally:
        client.close()


def error_from(response: bytes) -> CallEnded:
    with serving(answering(response)) as server, pytest.raises(CallEnded) as caught:
        ask(server)
    return caught.value


def test_a_request_carries_what_the_agent_set_and_nothing_else() -> None:
    request = ModelRequest(
        "m",
        MESSAGES,
        request_id="attempt-1",
        temperature=0.0,
        stop=("\nObservation:",),
        max_output_tokens=100,
        reasoning_effort="low",
        extra={"tools": []},
        extra_body={"top_k": 5, "temperature": 0.3},
    )
    with serving(answering(GOOD)) as server:
        ask(server, request)
        ask(server)
    full, plain = server.requests
    assert full.body == {
        "model": "m",
        "messages": MESSAGES,
        "stream": False,
        "temperature": 0.3,
        "stop": ["\nObservation:"],
        "max_tokens": 100,
        "reasoning_effort": "low",
        "tools": [],
        "top_k": 5,
    }
    assert full.path == "/v1/chat/completions"
    assert full.headers["x-request-id"] == "attempt-1"
    assert full.headers["authorization"] == f"Bearer {SECRET}"
    assert plain.body == {"model": "m", "messages": MESSAGES, "stream": False}


def test_a_reply_comes_with_its_tokens_its_latency_and_its_finish_reason() -> None:
    with serving(answering(GOOD)) as server:
        reply = ask(server)
    assert reply.reply.text == "hello"
    assert reply.reply.message == {"role": "assistant", "content": "hello"}
    assert reply.finish_reason == "stop"
    assert reply.usage == Usage(prompt_tokens=7, cached_tokens=3, completion_tokens=2)
    assert 0 < reply.latency_s < 10
    assert reply.learned == ()


def test_without_a_key_no_authorization_is_sent() -> None:
    with serving(answering(GOOD)) as server:
        ask(server, key=None)
    assert "authorization" not in server.requests[0].headers


def test_a_half_surrogate_in_an_observation_does_not_end_the_run() -> None:
    with serving(answering(GOOD)) as server:
        ask(server, ModelRequest("m", [{"role": "user", "content": "cut \ud83d here"}]))
    assert server.requests[0].body["messages"][0]["content"] == "cut ? here"


def test_connections_are_kept_alive_and_shared_by_threads() -> None:
    with serving(answering(GOOD)) as server:
        client = ModelClient(server.base_url, SECRET)
        texts: list[str] = []

        def work() -> None:
            texts.extend(client.complete(ModelRequest("m", MESSAGES), 10, Abort()).reply.text for _ in range(20))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        client.close()
    assert texts == ["hello"] * 80
    assert server.connections <= 4


def test_the_client_never_retries_by_itself() -> None:
    with serving(answering(http(500, b"{}"), GOOD)) as server, pytest.raises(CallEnded):
        ask(server)
    assert len(server.requests) == 1


def test_a_limit_comes_with_the_wait_that_was_asked_for() -> None:
    error = error_from(http(429, b'{"error": {"message": "slow down"}}', {"Retry-After": "7"}))
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == 7
    assert error.usage == Usage(), "a call that was turned away costs nothing"
    assert "slow down" in error.message


def test_an_endpoint_that_is_not_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    client = ModelClient(f"http://127.0.0.1:{port}/v1", SECRET)
    with pytest.raises(Unreachable, match=f"127.0.0.1:{port}.*refused") as caught:
        client.complete(ModelRequest("m", MESSAGES), 5, Abort())
    assert caught.value.usage == Usage()
    client.close()


@pytest.mark.parametrize(
    "response",
    [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{", b"nonsense\r\n\r\n"],
    ids=["closed without a word", "cut in the body", "no HTTP"],
)
def test_a_connection_that_breaks_is_worth_another_try_and_its_cost_is_unknown(response: bytes) -> None:
    def serve(connection: Connection) -> None:
        connection.read_request()
        connection.send(response)

    with serving(serve) as server, pytest.raises(ConnectionLost) as caught:
        ask(server)
    assert caught.value.usage is None


@pytest.mark.parametrize(
    "body",
    [b"<html>welcome</html>", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"message": null}]}', b""],
)
def test_a_success_that_is_no_completion_is_told_apart(body: bytes) -> None:
    assert isinstance(error_from(http(200, body)), BadReply)


def test_an_error_inside_a_success_is_read_as_an_error() -> None:
    body = json.dumps({"error": {"code": 429, "message": "upstream is busy"}}).encode()
    assert isinstance(error_from(http(200, body)), RateLimited)


def test_a_reply_cut_by_the_content_filter_ends_the_run_and_keeps_its_cost() -> None:
    choice = {"message": {"role": "assistant", "content": None}, "finish_reason": "content_filter"}
    error = error_from(http(200, completion(choices=[choice])))
    assert isinstance(error, ContentFilter)
    assert error.usage == Usage(7, 3, 2)


def test_a_compressed_reply_is_read() -> None:
    import gzip

    with serving(answering(http(200, gzip.compress(completion()), {"content-encoding": "gzip"}))) as server:
        assert ask(server).reply.text == "hello"


def test_a_redirect_is_not_followed_since_it_would_carry_the_key_elsewhere() -> None:
    error = error_from(http(308, b"", {"location": "https://elsewhere.example/v1"}))
    assert "https://elsewhere.example/v1: correct the base URL" in error.message


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://localhost/v1", "http://[half"])
def test_a_base_url_that_cannot_be_used_is_said_at_once(url: str) -> None:
    with pytest.raises(UserError, match="base URL"):
        ModelClient(url, SECRET)


def test_a_body_that_is_too_long_for_the_model_overflows() -> None:
    body = json.dumps({"error": {"message": "too long", "code": "context_length_exceeded"}}).encode()
    error = error_from(http(400, body))
    assert isinstance(error, ContextOverflow)
    assert error.code == "context_overflow"
