"""A model endpoint over HTTP that a test defines as a function of the request."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.engine.fleet import Fleet
from tests.llm.servers import Connection, RawServer, http, serving

Body = dict[str, Any]
Respond = Callable[[Body], tuple[int, Body]]
SUM = {"expression": "1 + 1"}


@contextmanager
def endpoint(respond: Respond) -> Iterator[RawServer]:
    """Serves what `respond` says to each request: a status and a body."""

    def serve(connection: Connection) -> None:
        while request := connection.read_request():
            status, body = respond(request.body)
            connection.send(http(status, json.dumps(body).encode()))

    with serving(serve) as server:
        yield server


def replied(message: Body, finish_reason: str = "stop", **fields: Any) -> tuple[int, Body]:
    """A completion with this message of the assistant."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return 200, {"choices": [choice], "usage": usage, **fields}


def refused(words: str, status: int = 400) -> tuple[int, Body]:
    """An error in OpenAI's shape."""
    return status, {"error": {"message": words, "type": "invalid_request_error"}}


def call(number: int, **fields: Any) -> Body:
    """A native tool call of the calculator."""
    function = {"name": "calculator", "arguments": json.dumps({"expression": f"{number} + 1"})}
    return {"id": f"call_{number}", "type": "function", "function": function, **fields}


def spoken(body: Body) -> list[Body]:
    """The assistant's messages of a request."""
    return [message for message in body["messages"] if message["role"] == "assistant"]


def ask(fleet: Fleet, server: RawServer, dialect: str, questions: int = 1, **settings: Any) -> str:
    """Submits questions for that endpoint, and returns their batch's id."""
    place: dict[str, Any] = {"base_url": server.base_url, "model": "m", "api_key_env": "NO_KEY", "dialect": dialect}
    return fleet.submit(["How much is 1 + 1?"] * questions, **place | {"tools": ["calculator"], **settings})
