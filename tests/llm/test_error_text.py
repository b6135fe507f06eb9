"""An error in place of a reply is distinguished from a reply about errors."""

from __future__ import annotations

import json

import pytest

from worker.core.errors import BrokenOff
from worker.llm.error_text import is_error_text
from worker.llm.reply import read_completion

ERRORS = [
    '{"error": {"message": "Upstream gave up", "type": "server_error", "code": 502}}',
    '{"error": "Service temporarily unavailable"}',
    '{"object": "error", "error": {"message": "no more", "status": "RESOURCE_EXHAUSTED"}}',
    "[ERROR] upstream request failed: 503 Service Unavailable",
    "Error: 429 Too Many Requests",
    "Error code: 503 - {'error': {'message': 'overloaded'}}",
    "acme.RateLimitError: RateLimitError: rate limit reached",
    "**Error**: The engine is busy, retry in 5s",
    "Upstream error: connection reset by peer",
    "⚠️ Error: insufficient credits",
    "[Error: the provider timed out]",
    "Request failed with status code 500",
    "Error communicating with the upstream: timeout",
    "I'm sorry, the model is currently overloaded. Please try again later.",
    "The server is busy. Please try again later.",
    "Our servers are experiencing high demand right now, please retry in a few minutes.",
    "The selected model is at capacity. Try again in 20 seconds.",
    "服务器繁忙，请稍后重试。",
    "<html><head><title>504 Gateway Time-out</title></head><body><h1>504 Gateway Time-out</h1></body></html>",
    "<h1>Too Many Requests</h1><p>You are going too fast.</p>",
    '{"detail": "Service Unavailable", "code": 503}',
    'Traceback (most recent call last):\n  File "/srv/engine.py", line 7, in step\n    run()\nMemoryError: no pages',
    "<!doctype html><html><body><p>503 Service Unavailable</p><hr>edge-7</body></html>",
    "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1><hr>edge/2</body></html>",
    "<!DOCTYPE html>\n<html>\n<head><title>a.example | 522: Connection timed out</title></head><body></body>\n</html>",
    "<html><body><h1>Error 504</h1><p>The gateway waited too long.</p></body></html>",
    '{"detail": "Service Unavailable"}',
    '{"message": "Internal Server Error", "request_id": "a1"}',
    "no healthy upstream",
    "upstream request timeout",
    "upstream connect error or disconnect/reset before headers. reset reason: remote reset",
    "stream error: stream ID 9; REFUSED_STREAM; received from peer",
    "read: connection reset by peer",
    ": STILL WORKING",
    "CUDA out of memory. Tried to allocate 512.00 MiB",
]
REPLIES = [
    "42",
    "Error 503 means that the service is unavailable.",
    "Error: the sum was wrong; it is 42.",
    "Error: 0.05",
    "Margin of error: 503 votes",
    "Standard error: 0.42",
    "Human error: 70% of the accidents",
    "Type I error: rejecting a true null hypothesis.",
    "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
    "ValueError: invalid literal for int() with base 10: 'x'",
    "The HTTP status 429 is called Too Many Requests.",
    "Bad Gateway",
    "The log says `Error: 503 Service Unavailable`.",
    "The log's last line:\n\n```\nError: 503 Service Unavailable\n```",
    "The status page says that its servers are overloaded.",
    "The restaurant is busy at noon; try again later in the day.",
    "I could not reach the weather service; please try again later.",
    '{"error": null, "result": 42}',
    '{"error": 0.04}',
    '{"status": 200, "detail": "Service Unavailable"}',
    '{"detail": "Two sums were wrong", "code": 503}',
    "<h1>Soup</h1><p>Boil it.</p>",
    'Traceback (most recent call last):\n  File "a.py", line 1\nNameError: x\nThe name x was never given a value.',
    "<html><body><h1>Recipes</h1><p>503 of them</p></body></html>",
    '{"error": "margin", "value": 0.5}',
    '{"error": {"message": "no"}, "answer": 42}',
    "502 Bad Gateway",
    "Internal Server Error",
    "Connection refused",
    "The upstream server reset the connection, since its deadline had passed.",
    "Salmon swim upstream.",
    "No, the upstream repository has no such branch.",
    "It ran out of memory.",
    '{"detail": "third floor"}',
    '{"message": "Happy birthday"}',
    "<html><head><title>Route 502</title></head><body><h1>Route 502 to Kiel</h1></body></html>",
    ": a colon",
]


@pytest.mark.parametrize("text", ERRORS)
def test_an_error_in_place_of_the_reply_is_an_error(text: str) -> None:
    assert is_error_text(text)
    assert is_error_text(f"\n{text}\n")


@pytest.mark.parametrize("text", REPLIES)
def test_a_reply_about_errors_is_a_reply(text: str) -> None:
    assert not is_error_text(text)


@pytest.mark.parametrize("text", ERRORS)
def test_an_error_quoted_in_a_longer_reply_is_part_of_the_reply(text: str) -> None:
    assert not is_error_text(f"The second of the three lines is this one.\n\n{text}\n\nIt came at noon.")


def body(**message: object) -> bytes:
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()


def test_such_a_completion_is_broken_off_with_its_words() -> None:
    with pytest.raises(BrokenOff, match="429 Too Many Requests"):
        read_completion(body(content="Error: 429 Too Many Requests"), {})


def test_beside_tool_calls_the_text_does_not_matter() -> None:
    calls = [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]
    assert read_completion(body(content="Error: 429 Too Many Requests", tool_calls=calls), {}).reply.text
