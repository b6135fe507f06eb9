"""An endpoint that echoes the request's headers in the place that the question names."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from tests.llm.servers import Connection, Request, http

Reply = Callable[[str], bytes]


def echo(request: Request) -> str:
    """The credentials of a request, as sent and as meant, with those in its query."""
    sent = request.headers.get("authorization", "nothing")
    kind, _, value = sent.partition(" ")
    meant = base64.b64decode(value).decode() if kind == "Basic" else value
    return f"{sent} | {meant} | {urlsplit(request.path).query}"


def message(content: str | None = "hello", reason: str = "stop", **more: Any) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **more}, "finish_reason": reason}
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    return http(200, json.dumps({"id": "x", "choices": [choice], "usage": usage}).encode())


def call(name: str, arguments: str, call_id: str = "call00001", **more: Any) -> bytes:
    one = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}
    return message(None, "tool_calls", tool_calls=[one])


def error(status: int, **fields: Any) -> bytes:
    return http(status, json.dumps({"error": fields}).encode())


def streamed(*pieces: str) -> bytes:
    """As server-sent events, of which each holds a piece of the text."""
    deltas = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    body = "".join(f"data: {json.dumps(one)}\n\n" for one in [*deltas, end]) + "data: [DONE]\n\n"
    return http(200, body.encode(), {"content-type": "text/event-stream"})


PLACES: Mapping[str, Reply] = {
    "answer": lambda said: message(f"Thought: I tell.\nAnswer: the key is {said}"),
    "escaped-answer": lambda said: message(f"Answer: the key is {quote(said)} and {json.dumps(said)}"),
    "thought": lambda said: message(f"Thought: with {said}\nAction: calculator\nAction Input: {{}}"),
    "tool-name": lambda said: message(f"Thought: x\nAction: {said}\nAction Input: {{}}"),
    "tool-arguments": lambda said: message(
        f"Thought: x\nAction: calculator\nAction Input: {json.dumps({'expression': said, said: 1})}"
    ),
    "unreadable": lambda said: message(f"Action: calculator\n{said}"),
    "finish-reason": lambda said: message("half a sentence", said),
    "extra": lambda said: message("Answer: 1", reasoning_content=said, extra_content={"signature": [said]}),
    "native-name": lambda said: call(said, "{}"),
    "native-arguments": lambda said: call("calculator", json.dumps({"expression": said})),
    "native-slashes": lambda said: call("calculator", json.dumps({"expression": said}).replace("/", "\\/")),
    "native-id": lambda said: call("calculator", '{"expression": "1+1"}', said, extra_content={"signature": said}),
    "stream": lambda said: streamed("Answer: ", said[:20], said[20:]),
    "error-in-200": lambda said: http(200, json.dumps({"error": {"code": 400, "message": said}}).encode()),
    "text-in-200": lambda said: http(200, said.encode()),
    "400": lambda said: error(400, message=f"bad {said}", code=said, type=said, param=said),
    "400-text": lambda said: http(400, f"no, {said}".encode()),
    "401": lambda said: error(401, message=f"Incorrect key: {said}"),
    "302": lambda said: http(302, b"", {"location": f"https://{quote(said)}@elsewhere/v1?k={said}"}),
    "404": lambda said: error(404, message=f"no model for {said}"),
    "429": lambda said: error(429, message=f"{said} is too quick"),
    "500": lambda said: http(500, f"<html><body>trace {said}</body></html>".encode(), {"x-request-id": said}),
    "status-line": lambda said: f"HTTP/1.1 {said}\r\n\r\n".encode(),
    "header-name": lambda said: f"HTTP/1.1 200 OK\r\n{said}\r\n\r\n".encode(),
}


def echoing(connection: Connection) -> None:
    """Serves `echo PLACE` questions; whatever follows a tool's result is answered."""
    while request := connection.read_request():
        told = request.body.get("messages", [])
        asked = next((part.rpartition("echo ")[2].split()[0] for part in _texts(told) if "echo " in part), "answer")
        acted = any("tool" in one.get("role", "") or "Observation" in str(one.get("content")) for one in told[2:])
        connection.send(message("Answer: done") if acted else PLACES[asked](echo(request)))


def _texts(told: list[dict[str, Any]]) -> list[str]:
    return [str(one.get("content")) for one in told if one.get("role") == "user"]
