"""A model that costs next to nothing: an OpenAI-compatible chat server that makes tool calls, then answers.

`python -m tests.bench.model_server PORT`. `GET /set?latency_s=1&calls=3` changes it, `GET /` counts, `GET /calls` hands
out what was served since it was last asked: request id, moment of receipt, moment of the reply.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import uvloop


class Model:
    """What all connections share."""

    def __init__(self) -> None:
        self.latency_s = 0.0
        self.calls = 3
        self.served = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.log: list[tuple[str, float, float]] = []

    def completion(self, body: dict[str, Any]) -> bytes:
        """As many tool calls as the conversation is to have, then an answer; written as the request asks for it."""
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        message, finish = self._message(turn, body.get("tools"))
        return orjson.dumps(
            {
                "id": f"chatcmpl-{self.served}", "object": "chat.completion", "created": 1, "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
            }
        )  # fmt: skip

    def _message(self, turn: int, tools: list[Any] | None) -> tuple[dict[str, Any], str]:
        said: dict[str, Any] = {"role": "assistant", "content": None}
        if turn >= self.calls:
            said["content"] = "42" if tools else "Thought: The tools returned all I need.\nAnswer: 42"
            return said, "stop"
        # Never the same twice, so that no cache of results spares anybody the work.
        arguments = orjson.dumps({"expression": f"{self.served} + {turn} * 3"}).decode()
        if not tools:
            said["content"] = f"Thought: I need to compute.\nAction: calculator\nAction Input: {arguments}"
            return said, "stop"
        function = {"name": tools[0]["function"]["name"], "arguments": arguments}
        said["tool_calls"] = [{"id": f"call_{self.served}", "type": "function", "function": function}]
        return said, "tool_calls"

    def control(self, target: str) -> bytes:
        """The pages for whoever measures."""
        url = urlsplit(target)
        if url.path == "/calls":
            log, self.log = self.log, []
            return orjson.dumps(log)
        for name, values in parse_qs(url.query).items():
            setattr(self, name, type(getattr(self, name))(float(values[0])))
        names = ("served", "in_flight", "most_in_flight", "latency_s")
        return orjson.dumps({name: getattr(self, name) for name in names})


class Connection(asyncio.Protocol):
    """One kept-alive connection, a request at a time."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._buffer = b""
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end]
            headers = {
                name.strip().lower(): value.strip()
                for name, _, value in (line.partition(b":") for line in head.split(b"\r\n")[1:])
            }
            whole = end + 4 + int(headers.get(b"content-length", b"0"))
            if len(self._buffer) < whole:
                return
            body, self._buffer = self._buffer[end + 4 : whole], self._buffer[whole:]
            self._answer(head, headers.get(b"x-request-id", b"").decode(), body)

    def _answer(self, head: bytes, request_id: str, body: bytes) -> None:
        model = self._model
        method, target = head.split(b" ", 2)[:2]
        if method != b"POST":
            self._write(model.control(target.decode()))
            return
        received_at = time.time()
        model.served += 1
        model.in_flight += 1
        model.most_in_flight = max(model.most_in_flight, model.in_flight)
        out = model.completion(orjson.loads(body))
        if model.latency_s:
            asyncio.get_running_loop().call_later(model.latency_s, self._reply, request_id, received_at, out)
        else:
            self._reply(request_id, received_at, out)

    def _reply(self, request_id: str, received_at: float, out: bytes) -> None:
        self._model.in_flight -= 1
        self._model.log.append((request_id, received_at, time.time()))
        self._write(out)

    def _write(self, out: bytes) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(out)
        self._transport.write(head + out)


async def serve(port: int) -> None:
    """Serves until the process is ended."""
    model = Model()
    server = await asyncio.get_running_loop().create_server(lambda: Connection(model), "127.0.0.1", port, backlog=2048)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
