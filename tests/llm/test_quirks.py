"""A model that refuses a field is asked again without it, once, and is never sent it again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.llm.servers import Connection, RawServer, completion, http, serving
from worker.core.errors import ModelRejected
from worker.llm.client import ModelClient, ModelReply
from worker.llm.endpoint import ModelRequest
from worker.llm.quirks import Quirks
from worker.llm.watchdog import Abort

REQUEST = ModelRequest("m", [], temperature=0.0, stop=("x",), max_output_tokens=50)


def unsupported(name: str, **more: Any) -> bytes:
    message = f"Unsupported parameter: '{name}' is not supported with this model."
    error = {"message": message, "type": "invalid_request_error", "param": name, "code": "unsupported_parameter"}
    return http(400, json.dumps({"error": {**error, **more}}).encode())


def refusing(*names: str) -> Any:
    def serve(connection: Connection) -> None:
        while request := connection.read_request():
            refused = next((name for name in names if name in request.body), None)
            connection.send(unsupported(refused) if refused else http(200, completion()))

    return serve


def ask(server: RawServer, client: ModelClient) -> ModelReply:
    return client.complete(REQUEST, 5, Abort())


def test_a_reasoning_model_is_asked_again_without_what_it_refuses_and_its_limit_stays() -> None:
    with serving(refusing("max_tokens", "temperature", "stop")) as server:
        client = ModelClient(server.base_url)
        first, second = ask(server, client), ask(server, client)
        client.close()
    assert set(first.left_out) == {"max_tokens", "temperature", "stop"}
    assert second.left_out == ()
    assert len(server.requests) == 5, "three refusals, then one request a call"
    assert server.requests[-1].body == {"model": "m", "messages": [], "max_completion_tokens": 50}


def test_another_model_at_the_same_endpoint_is_still_sent_everything() -> None:
    with serving(refusing("temperature")) as server:
        client = ModelClient(server.base_url)
        ask(server, client)
        with_temperature = ModelRequest("other", [], temperature=0.0)
        assert client.complete(with_temperature, 5, Abort()).left_out == ("temperature",)
        client.close()


def test_the_output_limit_is_never_dropped() -> None:
    with serving(refusing("max_tokens", "max_completion_tokens")) as server:
        client = ModelClient(server.base_url)
        with pytest.raises(ModelRejected, match="max_completion_tokens"):
            ask(server, client)
        client.close()
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("error", "name"),
    [
        ({"error": {"message": "Unsupported value: 'temperature' does not support 0 with this model.",
                    "param": "temperature", "code": "unsupported_value"}}, "temperature"),
        ({"detail": [{"loc": ["body", "stop"], "msg": "Extra inputs are not permitted"}]}, "stop"),
        ({"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model. "
                               "Use 'max_completion_tokens' instead."}}, "max_tokens"),
        ({"object": "error", "message": "temperature is not supported by this model", "code": 400}, "temperature"),
        ({"error": {"message": "max_tokens is too large: 50", "param": "max_tokens"}}, None),
        ({"error": {"message": "'reasoning_effort' is not supported", "param": "reasoning_effort"}}, None),
        ({"error": {"message": "The model `m` is not supported"}}, None),
        ("plain text", None),
    ],
)  # fmt: skip
def test_the_refused_field_is_read_from_the_error(error: object, name: str | None) -> None:
    sent = {"model": "m", "temperature": 0.0, "stop": ["x"], "max_tokens": 50, "reasoning_effort": "low"}
    assert Quirks().learn("http://e", sent, 400, error) == name


def test_only_a_refusal_of_the_request_teaches() -> None:
    error = {"error": {"message": "temperature is not supported", "param": "temperature"}}
    assert Quirks().learn("http://e", {"model": "m", "temperature": 0}, 500, error) is None


def test_two_calls_refused_at_the_same_time_are_both_sent_anew() -> None:
    quirks, sent = Quirks(), {"model": "m", "temperature": 0}
    error = {"error": {"message": "temperature is not supported", "param": "temperature"}}
    assert quirks.learn("http://e", sent, 400, error) == "temperature"
    assert quirks.learn("http://e", sent, 400, error) == "temperature"
    assert quirks.apply("http://e", sent) == {"model": "m"}
    assert sent == {"model": "m", "temperature": 0}
