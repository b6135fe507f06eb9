"""A reply that did not end by itself is neither an answer nor an action, wherever it was cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dialects.outcomes import TOOLS, act, got
from worker.core.records import Actions, Answer, Example, Malformed, Observed, Reply, Turn
from worker.dialects import DIALECTS, dialect

ALL = list(TOOLS.values())
NAMES = list(DIALECTS)
LENGTH = ["length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded"]
FILTERED = ["content_filter", "SAFETY", "sensitive"]
BROKEN_OFF = ["error", "abort", "network_error", "insufficient_system_resource", "something new"]
CALLED = ["tool_calls", "function_call", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"]
VALUES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


def written(name: str, value: str, *, answers: bool) -> dict[str, Any]:
    """A valid reply of the dialect: a call with the value, or an answer that is the value."""
    call = Observed("python_executor", {"code": value}, "4")
    shown = dialect(name).example(Example("q", (Turn("I think.", (call,)),), value, "I know."))
    return shown[-1] if answers else shown[1]


def parse(name: str, message: dict[str, Any], finish: str | None) -> Actions | Answer | Malformed:
    return dialect(name).parse(Reply(message.get("content") or "", finish, message), ALL)


def cut_at(message: dict[str, Any], share: float) -> dict[str, Any]:
    """The message with its text, or the arguments of its call, cut at a share of their bytes."""
    if not message.get("tool_calls"):
        return {**message, "content": _shorter(message["content"], share)}
    function = message["tool_calls"][0]["function"]
    called = {**function, "arguments": _shorter(function["arguments"], share)}
    return {**message, "tool_calls": [{**message["tool_calls"][0], "function": called}]}


def _shorter(text: str, share: float) -> str:
    data = text.encode()
    return data[: round(len(data) * share)].decode(errors="ignore")


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=100)
@given(
    value=VALUES,
    answers=st.booleans(),
    share=st.floats(0, 1) | st.just(1.0),
    finish=st.sampled_from([*LENGTH, *FILTERED, *BROKEN_OFF]),
)
def test_a_reply_cut_anywhere_is_never_used_when_its_ending_says_so(
    name: str, value: str, answers: bool, share: float, finish: str
) -> None:
    parsed = parse(name, cut_at(written(name, value, answers=answers), share), finish)
    assert isinstance(parsed, Malformed)
    assert parsed.reason


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("finish", "advice"), [(LENGTH[1], "Write less"), (FILTERED[1], "other words"), (BROKEN_OFF[0], "Write it again")]
)
def test_the_model_is_told_what_to_do_about_a_reply_that_was_cut(name: str, finish: str, advice: str) -> None:
    parsed = parse(name, {"content": ""}, finish)
    assert isinstance(parsed, Malformed)
    assert advice in parsed.reason


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("finish", CALLED)
def test_an_announcement_that_ended_as_a_call_without_one_is_no_answer(name: str, finish: str) -> None:
    parsed = parse(name, written(name, "I look it up.", answers=True), finish)
    assert isinstance(parsed, Malformed)
    assert "ended as a tool call" in parsed.reason


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("finish", [None, "", "stop", "end_turn", "eos", "tool_calls", "function_call"])
def test_a_call_that_ended_as_one_or_by_itself_is_the_call(name: str, finish: str | None) -> None:
    parsed = parse(name, written(name, "print(1)", answers=False), finish)
    assert got(parsed) == act("python_executor", {"code": "print(1)"})


@pytest.mark.parametrize("name", [name for name in NAMES if name != "native"])
@pytest.mark.parametrize("finish", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"])
def test_an_action_is_not_run_where_the_endpoint_met_a_call_that_it_could_not_read(name: str, finish: str) -> None:
    parsed = parse(name, written(name, "DELETE FROM bookings", answers=False), finish)
    assert isinstance(parsed, Malformed)
    assert parsed.reason


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "leaked",
    [
        '<tool_call>{"name": "python_executor", "arguments": {"code": "print(1)"}}</tool_call>',
        '{"name": "python_executor", "arguments": {"code": "print(1)"}}',
    ],
)
def test_a_leaked_call_that_the_endpoint_could_not_read_is_the_call(name: str, leaked: str) -> None:
    parsed = parse(name, {"content": leaked}, "MALFORMED_FUNCTION_CALL")
    assert not isinstance(parsed, Answer)
    if isinstance(parsed, Actions):
        assert got(parsed) == act("python_executor", {"code": "print(1)"})
    assert isinstance(parse(name, {"content": leaked}, "TOO_MANY_TOOL_CALLS"), Malformed)


def test_a_call_of_the_api_is_not_run_when_the_provider_broke_off_behind_it() -> None:
    call = {"id": "c", "function": {"name": "calculator", "arguments": json.dumps({"expression": "1200 * 3"})}}
    assert isinstance(parse("native", {"content": None, "tool_calls": [call]}, "error"), Malformed)
