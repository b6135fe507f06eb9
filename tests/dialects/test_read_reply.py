"""What a reply adds to the history besides its text, and how a reply cut by the output limit is handled."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialects.outcomes import TOOLS
from worker.core.config import RunConfig
from worker.core.moves import Acted, Answered, ThinkEvent, Unreadable, UsedUp
from worker.core.records import Observed, Reply, Turn, Usage
from worker.dialects import DIALECTS
from worker.llm.client import ModelReply
from worker.store.hot.interface import StepRecord
from worker.store.queries.history import History
from worker.tasks.conversation import given_back, read_reply

CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
SIGNED = {**CALL, "id": "call_2", "extra_content": {"google": {"thought_signature": "c2ln"}}}
CUT, OTHER = Turn("", (), "So", "Write less.", cut=True), Turn("", (), "hm", "Write it right.")
DONE = Turn("", (Observed("get_weather", {"city": "Oslo"}, "3 °C"),))


def read(
    message: dict[str, Any], finish: str = "stop", dialect: str = "native", turns: tuple[Turn, ...] = ()
) -> tuple[ThinkEvent, StepRecord]:
    text = message.get("content")
    reply = Reply(text if isinstance(text, str) else "", finish, {"role": "assistant", **message})
    config = RunConfig(dialect=dialect, model="m")
    # Tools of tests are views, of which reading alone knows enough.
    tools: Any = list(TOOLS.values()) if dialect != "native" else []
    return read_reply(ModelReply(reply, Usage(), 0.1), config, tools, History("Warm?", turns), "endpoint")


def test_an_action_keeps_what_its_message_and_its_calls_carried_and_where_it_came_from() -> None:
    carried: dict[str, Any] = {"reasoning_content": "Let me see.", "refusal": None, "annotations": []}
    event, record = read({"content": None, "tool_calls": [CALL, CALL, SIGNED], **carried}, "tool_calls")
    assert isinstance(event, Acted)
    assert len(event.calls) == 2, "a call that is sent twice is one call"
    assert record.extras == {
        "message": {"reasoning_content": "Let me see."},
        "calls": [{}, {"extra_content": SIGNED["extra_content"]}],
    }
    assert record.endpoint_id == "endpoint"


def test_an_unreadable_reply_keeps_it_too_but_for_what_names_its_calls() -> None:
    details = [{"type": "reasoning.encrypted", "id": "call_9", "data": "e"}]
    broken = {"id": "call_9", "function": {"name": "", "arguments": "{"}}
    message = {"content": "", "tool_calls": [broken], "reasoning": "hm", "reasoning_details": details}
    event, record = read(message, "tool_calls")
    assert isinstance(event, Unreadable)
    assert record.extras == {"message": {"reasoning": "hm"}}


def test_an_answer_and_a_plain_message_keep_nothing() -> None:
    event, record = read({"content": "3 °C.", "reasoning_content": "hm"})
    assert event == Answered("3 °C.")
    assert record.extras is None
    assert read({"content": None, "tool_calls": [CALL]}, "tool_calls")[1].extras is None


def test_only_the_endpoint_that_sent_it_is_given_it_back() -> None:
    seen = Observed("get_weather", {}, "3 °C", "x" * 80, {"extra_content": {"s": 1}})
    turn = Turn("", (seen,), "", extra={"reasoning_content": "hm"}, endpoint_id="a")
    assert given_back([turn], "a") == [turn]
    (plain,) = given_back([turn], "b")
    assert (plain.extra, plain.calls) == ({}, (Observed("get_weather", {}, "3 °C"),))
    old = Turn("", (Observed("get_weather", {}, "3 °C", "call_1"),), "I look.")
    assert given_back([old], "a")[0].kept == "I look.", "steps of older versions name no endpoint"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("finish", ["length", "max_tokens", "MAX_TOKENS"])
@pytest.mark.parametrize(
    "message",
    [
        {"content": None},
        {"content": ""},
        {"content": " \n", "reasoning_content": "Well,"},
        {"content": None, "reasoning": "Well,", "tool_calls": []},
        {"content": "<think>Well, Action: get_weather"},
        {"content": "<think>\nI could say that Answer: 3"},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Well,"}]}]},
    ],
)
def test_nothing_but_thinking_up_to_the_limit_is_told_apart(dialect: str, finish: str, message: dict[str, Any]) -> None:
    event, record = read(message, finish, dialect)
    assert event == UsedUp()
    assert record.kind == "malformed" and record.notice


@pytest.mark.parametrize("dialect", DIALECTS)
def test_thinking_that_ended_by_itself_is_only_unreadable(dialect: str) -> None:
    assert isinstance(read({"content": None, "reasoning_content": "Well."}, "stop", dialect)[0], Unreadable)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("turns", "all_cut"),
    [((), True), ((CUT, CUT), True), ((OTHER, DONE, CUT), True), ((OTHER, CUT), False), ((CUT, OTHER), False)],
)
def test_a_cut_answer_is_unreadable_and_known_as_cut_if_those_before_it_were(
    dialect: str, turns: tuple[Turn, ...], all_cut: bool
) -> None:
    event, record = read({"content": "It is cold, and the"}, "length", dialect, turns)
    assert isinstance(event, Unreadable)
    assert event.cut == all_cut
    assert "Write less" in str(record.notice)


def test_a_call_that_the_limit_cut_is_no_thinking() -> None:
    half = {"id": "call_1", "function": {"name": "get_weather", "arguments": '{"city": "Os'}}
    event = read({"content": None, "tool_calls": [half]}, "length")[0]
    assert isinstance(event, Unreadable) and event.cut
