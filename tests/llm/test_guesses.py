"""A refusal in words that no rule knows: plainer requests are tried, one by one, and only what is answered is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.llm.servers import Connection, completion, http, serving
from tests.llm.test_adaptations import MESSAGES, REQUEST, ask, features
from worker.core.errors import CallEnded
from worker.core.records import JsonObject
from worker.llm.client import ModelClient
from worker.llm.endpoint import ModelRequest
from worker.llm.watchdog import Abort

CALLED = {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function", "function": {}}]}

NAMED = {
    "role": "assistant",
    "content": "x",
    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "add", "arguments": "{}"}}],
}


def refusing_where(wrong: Callable[[JsonObject], bool], status: int = 400, words: str = "Nope, not like this.") -> Any:
    def serve(connection: Connection) -> None:
        while request := connection.read_request():
            refusal = http(status, json.dumps({"error": {"message": words}}).encode())
            connection.send(refusal if wrong(request.body) else http(200, completion()))

    return serve


@pytest.mark.parametrize(
    ("wrong", "request_sent", "learned"),
    [
        (lambda body: "stop" in body, REQUEST, {"without_all:": True}),
        (lambda body: body["messages"][0]["role"] == "system", REQUEST, {"no_system_role": True}),
        (lambda body: body.get("max_tokens", 0) > 2048, REQUEST, {"output_limit": True}),
        (
            lambda body: any(m.get("content", 0) is None for m in body["messages"]),
            ModelRequest("m", [*MESSAGES, CALLED, {"role": "tool", "tool_call_id": "a", "content": "4"}]),
            {"content_beside_calls": True},
        ),
        (
            lambda body: any("aura" in m for m in body["messages"]),
            ModelRequest("m", [*MESSAGES, {"role": "assistant", "content": "x", "aura": "blue"}, MESSAGES[1]]),
            {"message_without:aura": True},
        ),
        (
            lambda body: any({"aura", "mood"} & set(m) for m in body["messages"]),
            ModelRequest("m", [*MESSAGES, {"role": "assistant", "content": "x", "aura": 1, "mood": 2}, MESSAGES[1]]),
            {"messages_plain": True},
        ),
        (
            lambda body: any(m["role"] == "tool" and "name" not in m for m in body["messages"]),
            ModelRequest("m", [*MESSAGES, NAMED, {"role": "tool", "tool_call_id": "a", "content": "4"}]),
            {"results_named": True},
        ),
    ],
)
def test_what_helps_is_found_and_alone_is_learned(
    wrong: Callable[[JsonObject], bool], request_sent: ModelRequest, learned: dict[str, bool]
) -> None:
    with serving(refusing_where(wrong)) as server:
        reply = ask(server, request_sent)
    assert {name.removesuffix(":") for name in features(reply.learned)} == {name.removesuffix(":") for name in learned}
    assert len(server.requests) <= 6


def test_a_guess_at_the_output_limit_is_not_remembered() -> None:
    with serving(refusing_where(lambda body: body.get("max_tokens", 0) > 2048)) as server:
        reply = ask(server)
    assert [one.lasting for one in reply.learned] == [False]


def test_the_first_words_stand_where_nothing_helps_and_the_same_words_start_no_other_guesses() -> None:
    with serving(refusing_where(lambda _: True, words="The moon is in the wrong house.")) as server:
        client = ModelClient(server.base_url)
        for expected in (4, 5):
            with pytest.raises(CallEnded, match="wrong house"):
                client.complete(REQUEST, 20, Abort())
            assert len(server.requests) == expected, "three guesses the first time, none the second"
        client.close()


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
def test_other_errors_start_no_guesses(status: int) -> None:
    with serving(refusing_where(lambda _: True, status)) as server, pytest.raises(CallEnded):
        ask(server)
    assert len(server.requests) == 1


def test_what_the_user_set_is_never_left_out() -> None:
    with serving(refusing_where(lambda body: "top_k" in body)) as server, pytest.raises(CallEnded):
        ask(server, ModelRequest("m", MESSAGES, temperature=0.0, extra_body={"top_k": 5}))
    assert all("top_k" in request.body for request in server.requests)
