"""Chat completions in the shapes that endpoints really send."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from worker.core.errors import BrokenOff, CallEnded, ContentFilter, EndpointFailed, QuotaExhausted, RateLimited
from worker.core.finish_reasons import Ending, ending_of
from worker.core.records import Usage
from worker.llm.reply import read_completion, unreadable_call


def text_of(content: Any) -> str:
    body = {"choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": None}]}
    return read_completion(orjson.dumps(body), {}).reply.text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ([{"type": "text"}, "odd"], "odd"),
        ({"type": "text", "text": "a"}, "a"),
        (7, ""),
    ],
)
def test_text_is_read_from_any_content(content: Any, text: str) -> None:
    assert text_of(content) == text


def test_native_tool_calls_stay_in_the_message() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "f"}}]}
    completion = read_completion(orjson.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}), {})
    assert completion.reply.message == message
    assert completion.reply.finish_reason == "tool_calls"
    assert completion.usage is None


@pytest.mark.parametrize(
    ("message", "usage", "only"),
    [
        ({"content": "", "reasoning_content": "Let me see"}, None, True),
        ({"content": None, "reasoning": "Let me see"}, None, True),
        ({"content": ""}, {"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 9}}, True),
        ({"content": "42", "reasoning_content": "Let me see"}, None, False),
        ({"content": None, "reasoning_content": "hm", "tool_calls": [{"function": {"name": "f"}}]}, None, False),
        ({"content": ""}, None, False),
    ],
)
def test_a_reply_that_only_thought_is_marked(message: dict[str, Any], usage: object, only: bool) -> None:
    body = {"choices": [{"message": message, "finish_reason": "length"}], "usage": usage}
    assert read_completion(orjson.dumps(body), {}).reply.reasoning_only is only


def ended(choice: dict[str, Any], **top: Any) -> CallEnded:
    """The error that a 200 with this choice ends as."""
    with pytest.raises(CallEnded) as found:
        read_completion(orjson.dumps({"choices": [choice], "usage": COUNTED, **top}), {})
    return found.value


COUNTED = {"prompt_tokens": 9, "completion_tokens": 4}
HALF = {"role": "assistant", "content": "The capital of France is"}


@pytest.mark.parametrize("reason", ["error", "abort", "network_error", "insufficient_system_resource", "banana", 99])
def test_half_a_reply_of_a_provider_that_broke_off_is_tried_again_and_counted(reason: object) -> None:
    error = ended({"message": HALF, "finish_reason": reason})
    assert type(error) is BrokenOff
    assert error.usage == Usage(9, 0, 4)


@pytest.mark.parametrize(
    ("told", "native"), [(None, "error"), (None, "banana"), ("", "upstream_aborted"), ("stop", "cancelled")]
)
def test_a_gateway_that_hides_how_its_provider_ended_is_seen_through(told: object, native: str) -> None:
    assert type(ended({"message": HALF, "finish_reason": told, "native_finish_reason": native})) is BrokenOff


@pytest.mark.parametrize("flag", ["aborted", "cancelled", "timed_out", "is_error"])
@pytest.mark.parametrize("where", ["top", "choice", "message"])
def test_a_reply_that_is_marked_as_none_is_broken_off(flag: str, where: str) -> None:
    marks: dict[str, dict[str, Any]] = {"top": {}, "choice": {}, "message": {}, where: {flag: True}}
    choice = {"message": {**HALF, **marks["message"]}, "finish_reason": None, **marks["choice"]}
    assert isinstance(ended(choice, **marks["top"]), BrokenOff | EndpointFailed)


@pytest.mark.parametrize(("name", "reason"), [("stop_reason", "max_tokens"), ("finishReason", "MAX_TOKENS")])
def test_a_reason_under_another_name_counts_where_there_is_no_other(name: str, reason: str) -> None:
    cut = {"message": HALF, "finish_reason": None, name: reason}
    assert read_completion(orjson.dumps({"choices": [cut]}), {}).reply.finish_reason == reason


def test_a_stop_sequence_that_was_met_tells_nothing_bad() -> None:
    whole = {"message": HALF, "finish_reason": None, "stop_reason": "\nObservation:", "aborted": False}
    assert read_completion(orjson.dumps({"choices": [whole]}), {}).reply.text == HALF["content"]


@pytest.mark.parametrize("native", [None, "STOP", "end_turn", "banana", 42])
def test_a_providers_own_word_that_tells_nothing_bad_changes_nothing(native: object) -> None:
    whole = {"message": HALF, "finish_reason": "stop", "native_finish_reason": native}
    assert read_completion(orjson.dumps({"choices": [whole]}), {}).reply.finish_reason == "stop"


@pytest.mark.parametrize("reason", ["content_filter", "sensitive", "SAFETY", 3])
def test_a_filtered_reply_is_the_filters(reason: object) -> None:
    error = ended({"message": HALF, "finish_reason": reason})
    assert type(error) is ContentFilter
    assert error.usage == Usage(9, 0, 4)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ({"message": "Provider disconnected"}, BrokenOff),
        ({"code": 502, "message": "Provider disconnected"}, EndpointFailed),
        ({"code": 429, "message": "Slow down"}, RateLimited),
        ("insufficient balance", QuotaExhausted),
    ],
)
def test_an_error_beside_a_message_is_what_it_says(said: object, kind: type[CallEnded]) -> None:
    beside = ended({"message": HALF, "finish_reason": "stop"}, error=said)
    within = ended({"message": HALF, "finish_reason": "stop", "error": said})
    inside = ended({"message": {**HALF, "error": said}, "finish_reason": "stop"})
    listed = ended({"message": HALF, "finish_reason": "stop"}, errors=[said])
    assert type(beside) is type(within) is type(inside) is type(listed) is kind
    assert beside.usage == Usage(9, 0, 4)


def test_a_reply_that_says_it_is_incomplete_is_broken_off() -> None:
    details = {"reason": "server_error"}
    for said in ({"status": "incomplete"}, {"incomplete_details": details}, {"status": "failed"}):
        assert type(ended({"message": HALF, "finish_reason": "stop"}, **said)) is BrokenOff
        assert type(ended({"message": {**HALF, **said}, "finish_reason": "stop"})) is BrokenOff


@pytest.mark.parametrize("details", [{"reason": "max_output_tokens"}, {"reason": "max_tokens"}, "token_limit"])
@pytest.mark.parametrize("finish_reason", ["stop", "incomplete", None])
def test_a_reply_that_a_limit_left_incomplete_is_a_cut_one(details: object, finish_reason: str | None) -> None:
    cut = {"status": "incomplete", "incomplete_details": details}
    choice = {"message": HALF, "finish_reason": finish_reason}
    bodies = [
        {"choices": [choice], **cut},
        {"choices": [{**choice, "message": {**HALF, **cut}}], "status": "incomplete"},
    ]
    for body in bodies:
        reply = read_completion(orjson.dumps(body), {}).reply
        assert (reply.text, ending_of(reply.finish_reason)) == (HALF["content"], Ending.LENGTH)
    assert type(ended(choice, **cut, error={"message": "Provider disconnected"})) is BrokenOff


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"success": False, "errorMessage": "wallet balance is zero"}, QuotaExhausted),
        ({"ok": False, "err": "no credits left"}, QuotaExhausted),
        ({"code": 11202, "message": "second-level flow control exceeded limit"}, RateLimited),
    ],
)
def test_a_200_without_a_reply_is_the_error_that_it_tells(body: object, kind: type[CallEnded]) -> None:
    with pytest.raises(kind):
        read_completion(orjson.dumps(body), {})


@pytest.mark.parametrize("status", [200, 0, "success", "completed", None, "ok"])
def test_another_status_beside_a_message_says_nothing(status: object) -> None:
    body = {"choices": [{"message": HALF, "finish_reason": "stop"}], "status": status, "incomplete_details": None}
    assert read_completion(orjson.dumps(body), {}).reply.text == HALF["content"]


@pytest.mark.parametrize("nothing", [None, {}, "", {"code": 0, "message": ""}, {"code": None}])
def test_an_empty_error_beside_a_message_is_none(nothing: object) -> None:
    body = {"choices": [{"message": HALF, "finish_reason": "stop"}], "error": nothing, "base_resp": {"status_code": 0}}
    assert read_completion(orjson.dumps(body), {}).reply.text == HALF["content"]


def test_a_prompt_that_gemini_blocks_is_the_filters() -> None:
    with pytest.raises(ContentFilter, match="PROHIBITED_CONTENT"):
        read_completion(orjson.dumps({"choices": [], "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}), {})


def failed(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


@pytest.mark.parametrize(
    ("status", "body", "text"),
    [
        (400, failed("Failed to call a function.", code="tool_use_failed", failed_generation="<f>{}</f>"), "<f>{}</f>"),
        (400, failed("Failed to call a function.", code="tool_use_failed", failed_generation=""), ""),
        (400, failed("Failed to generate JSON", code="json_validate_failed", failed_generation="{"), "{"),
        (500, failed("error parsing tool call: raw='{\"x\": 1', err=unexpected end of JSON input"), '{"x": 1'),
        (500, failed("Failed to parse input at pos 12: <tool_call>{", type="server_error"), "<tool_call>{"),
        (400, failed("The model's tool call was malformed", model_output="add(1)"), "add(1)"),
    ],
)
def test_a_call_that_the_endpoint_could_not_read_is_a_reply(status: int, body: object, text: str) -> None:
    reply = unreadable_call(status, body)
    assert reply is not None
    assert (reply.text, ending_of(reply.finish_reason)) == (text, Ending.BAD_CALL)


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "Failed to parse tool call arguments as JSON", "type": "invalid_request_error"}},
        {"error": {"message": "Invalid tool call id", "param": "messages[2]"}},
        {"error": {"message": "Bad Request"}},
        {"choices": [{"message": HALF, "finish_reason": "stop"}]},
        "text",
        None,
    ],
)
def test_an_error_without_the_models_words_is_no_reply(body: object) -> None:
    assert unreadable_call(400, body) is None
