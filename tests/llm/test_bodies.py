"""Bodies of replies as endpoints mangle them: streams, keep-alives, half characters, numbers as text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.core.errors import BrokenOff, CallEnded
from worker.core.records import Usage
from worker.llm.bodies import read_body
from worker.llm.reply import Completion, read_completion

WHOLE = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "42"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 2},
}
PLAIN = json.dumps(WHOLE).encode()


def read(content: bytes) -> Completion:
    return read_completion(content, {})


def chunk(delta: dict[str, Any], finish: str | None = None, **top: Any) -> dict[str, Any]:
    return {"id": "1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **top}


def stream(*chunks: Any, end: str = "data: [DONE]\n\n") -> bytes:
    return ("".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + end).encode()


TALK = (chunk({"role": "assistant", "content": ""}), chunk({"content": "4"}), chunk({"content": "2"}, "stop"))
COUNTS = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        b"\xef\xbb\xbf" + PLAIN,
        b"\n\n   \n" + PLAIN,
        b": keep-alive\n\n: keep-alive\n\n" + PLAIN,
        PLAIN + b"\n\ndata: [DONE]\n\n",
        PLAIN + b"\r\n\r\n",
        b"data: " + PLAIN + b"\n\ndata: [DONE]\n\n",
        b"data:" + PLAIN,
        b"[" + PLAIN + b"]",
        json.dumps({"code": 200, "data": WHOLE}).encode(),
        stream(*TALK, COUNTS),
        stream(*TALK, COUNTS, end=""),
        stream(*TALK, COUNTS).replace(b"\n", b"\r\n"),
        b": OPENROUTER PROCESSING\n\n" + stream(*TALK, COUNTS),
        stream(*TALK, COUNTS).replace(b"data: {", b"event: message\nid: 3\ndata: {"),
        "\n".join(json.dumps(one) for one in (*TALK, COUNTS)).encode(),
        "".join(json.dumps(one) for one in (*TALK, COUNTS)).encode(),
        json.dumps([*TALK, COUNTS]).encode(),
        stream(chunk({"content": "42"}, "stop", usage=COUNTS["usage"])),
    ],
)
def test_a_reply_is_read_from_any_wrapping(content: bytes) -> None:
    completion = read(content)
    assert (completion.reply.text, completion.reply.finish_reason) == ("42", "stop")
    assert completion.usage == Usage(7, 0, 2)


def test_a_stream_without_an_end_is_broken_off_and_its_usage_counts() -> None:
    with pytest.raises(BrokenOff) as broken:
        read(stream(*TALK[:2], COUNTS, end=""))
    assert broken.value.usage == Usage(7, 0, 2)


def test_a_stream_that_is_closed_in_order_has_ended_only_with_a_reason_or_a_count() -> None:
    with pytest.raises(BrokenOff):
        read(stream(*TALK[:2]))
    assert read(stream(*TALK[:2], COUNTS)).reply.text == "4"


def test_an_error_inside_a_stream_is_no_answer() -> None:
    with pytest.raises(CallEnded, match="upstream died"):
        read(stream(*TALK[:2], {"error": {"message": "upstream died", "code": 502}}))


@pytest.mark.parametrize("index", [lambda n: {"index": n}, lambda n: {"index": str(n)}, lambda n: {}])
def test_tool_calls_come_together_from_their_pieces(index: Any) -> None:
    pieces = [
        {**index(0), "id": "a", "type": "function", "function": {"name": "add", "arguments": ""}},
        {**index(0), "function": {"arguments": '{"x":'}},
        {**index(0), "function": {"arguments": "1}"}},
        {**index(1), "id": "b", "type": "function", "function": {"name": "add", "arguments": '{"x":2}'}},
    ]
    chunks = [chunk({"tool_calls": [piece]}) for piece in pieces]
    message = read(stream(*chunks, chunk({}, "tool_calls"))).reply.message
    assert [(call["id"], call["function"]["arguments"]) for call in message["tool_calls"]] == [
        ("a", '{"x":1}'),
        ("b", '{"x":2}'),
    ]


def test_what_a_stream_carries_beyond_what_we_know_is_kept() -> None:
    call = {
        "index": 0,
        "id": "a",
        "function": {"name": "f", "arguments": "{}"},
        "extra_content": {"google": {"s": "x"}},
    }
    deltas = [chunk({"reasoning_content": "hm"}), chunk({"reasoning_content": "!"}), chunk({"tool_calls": [call]})]
    message = read(stream(*deltas, chunk({}, "tool_calls"))).reply.message
    assert message["reasoning_content"] == "hm!"
    assert message["tool_calls"][0]["extra_content"] == {"google": {"s": "x"}}


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (rb'"half \ud83d here"', "half � here"),
        (rb'"whole \ud83d\ude00"', "whole 😀"),
        (b'"bad \xff byte"', "bad � byte"),
        (b'"bare\nline"', "bare\nline"),
    ],
)
def test_a_broken_character_is_replaced_and_nothing_else(raw: bytes, text: str) -> None:
    assert read(PLAIN.replace(b'"42"', raw)).reply.text == text


def test_what_is_no_number_is_null() -> None:
    assert read_body(b'{"a": NaN, "b": [Infinity, -Infinity]}') == {"a": None, "b": [None, None]}


def outcome(content: bytes) -> str:
    """The text of the reply, or the words of the error."""
    try:
        return read(content).reply.text
    except CallEnded as ended:
        return ended.message


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_raise_anything_but_an_ended_call(content: bytes) -> None:
    assert len(outcome(content)) < 700


@settings(deadline=None)
@given(st.integers(0, len(PLAIN) - 1))
def test_a_reply_cut_anywhere_is_no_reply(cut: int) -> None:
    with pytest.raises(CallEnded):
        read(PLAIN[:cut])


CUT_ME = stream(*TALK[:2], chunk({"content": "2"}), chunk({}, "stop"), end="")


@settings(deadline=None)
@given(st.integers(0, len(CUT_ME) - 20))
def test_a_stream_cut_anywhere_before_its_end_is_no_reply(cut: int) -> None:
    with pytest.raises(CallEnded):
        read(CUT_ME[:cut])


parts = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
names = st.sampled_from(
    ["choices", "message", "delta", "content", "tool_calls", "function", "arguments", "index", "finish_reason", "usage",
     "error", "prompt_tokens", "completion_tokens", "id", "type", "text", "base_resp", "status_code", "data"]
)  # fmt: skip
bodies = st.recursive(
    parts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4), max_leaves=25
)


@settings(deadline=None)
@given(st.lists(bodies, min_size=1, max_size=4))
def test_no_json_raises_anything_but_an_ended_call(values: list[object]) -> None:
    for content in (json.dumps(values[0]).encode(), stream(*values)):
        assert isinstance(outcome(content), str)


@settings(deadline=None)
@given(st.dictionaries(names, bodies, max_size=3), bodies, bodies)
def test_no_message_usage_or_reason_raises(message: dict[str, object], usage: object, reason: object) -> None:
    body = {"choices": [{"message": message, "finish_reason": reason}], "usage": usage}
    try:
        completion = read(json.dumps(body).encode())
    except CallEnded:
        return
    assert isinstance(completion.reply.text, str)
    assert completion.reply.finish_reason is None or isinstance(completion.reply.finish_reason, str)
