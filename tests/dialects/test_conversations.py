"""Whatever a run went through, the strictest chat templates accept the conversation that is sent."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worker.core.folding import fold
from worker.core.records import Example, Message, Observed, Turn
from worker.dialects import DIALECTS, dialect
from worker.dialects.prompt import messages

TEXT = st.sampled_from(["", " \n", "I look.", "Thought: hm\nAction: x", '{"type": "answer"}', "é 😀", "x" * 3000])
IDS = st.sampled_from([None, "", "call_1", "call_2", "call00001", "functions.search:0", "é id", "t" * 80])
EXTRA = st.sampled_from(
    [{}, {"reasoning_content": "hm"}, {"reasoning_details": [{"id": "call_1"}, {"id": "call00001"}]}]
)
OBSERVED = st.builds(
    Observed,
    st.sampled_from(["calculator", "no such tool"]),
    st.sampled_from([{}, {"input": "1 + 1"}, {"city": "Oslo", "days": 3}]),
    TEXT,
    IDS,
    EXTRA,
)
ACTED = st.builds(Turn, TEXT, st.lists(OBSERVED, min_size=1, max_size=4).map(tuple), TEXT, extra=EXTRA)
NOTICED = st.builds(
    Turn, TEXT, st.lists(OBSERVED, max_size=2).map(tuple), TEXT, st.sampled_from(["Write it right."]), extra=EXTRA
)
EXAMPLES = st.lists(
    st.builds(
        lambda turns: Example("Warm?", tuple(turns), "No.", "I know."),
        st.lists(st.builds(Turn, TEXT, st.lists(OBSERVED, min_size=1, max_size=2).map(tuple)), max_size=2),
    ),
    max_size=2,
)
TURNS = st.lists(ACTED | NOTICED, max_size=6)
NOTICE = st.sampled_from([None, "This was the last allowed step."])
RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("name", list(DIALECTS))
@RELAXED
@given(examples=EXAMPLES, turns=TURNS, folds=st.integers(0, 3), notice=NOTICE)
def test_any_history_becomes_a_conversation_that_strict_templates_take(
    name: str, examples: list[Example], turns: list[Turn], folds: int, notice: str | None
) -> None:
    found = messages(dialect(name), "You answer.", examples, "Warm in Oslo?", fold(turns, folds), notice)
    _assert_in_turn(found)
    _assert_calls_and_results_match(found)
    assert all(message["content"] or message.get("tool_calls") for message in found), "no message is empty"
    if notice:
        assert str(found[-1]["content"]).endswith(notice)
        assert len(found) == len(messages(dialect(name), "You answer.", examples, "Warm in Oslo?", fold(turns, folds)))
    if name != "native":
        assert {message["role"] for message in found} <= {"system", "user", "assistant"}


def _assert_in_turn(found: list[Message]) -> None:
    """The system, then user and assistant in turn; an assistant's calls and their results stand for one turn."""
    assert [found[0]["role"], found[1]["role"]] == ["system", "user"]
    assert found[-1]["role"] in ("user", "tool")
    for before, after in pairwise(found):
        if after["role"] == "assistant":
            assert before["role"] in ("user", "tool")
        if after["role"] == "user" and before["role"] != "system":
            assert before["role"] == "assistant" and not before.get("tool_calls")
        if after["role"] == "tool":
            assert before["role"] == "tool" or before.get("tool_calls")


def _assert_calls_and_results_match(found: list[Message]) -> None:
    seen: list[str] = []
    for at, message in enumerate(found):
        ids = [call["id"] for call in message.get("tool_calls", [])]
        results = found[at + 1 : at + 1 + len(ids)]
        assert [result.get("tool_call_id") for result in results] == ids
        seen += ids
        for call in message.get("tool_calls", []):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
    assert len(seen) == len(set(seen)), "no two calls of a conversation share an id"
    assert len(seen) == sum(message["role"] == "tool" for message in found)


@RELAXED
@given(turns=TURNS, later=TURNS)
def test_ids_are_nine_letters_or_digits_and_stay_the_same_as_the_conversation_grows(
    turns: list[Turn], later: list[Turn]
) -> None:
    native = dialect("native")
    bare = [_without_extra(turn) for turn in turns]
    found = messages(native, "s", [], "q", bare)
    ids = [call["id"] for message in found for call in message.get("tool_calls", [])]
    assert all(re.fullmatch(r"[a-zA-Z0-9]{9}", call_id) for call_id in ids)
    grown = messages(native, "s", [], "q", [*turns, *later])
    assert grown[: len(found)] == messages(native, "s", [], "q", turns)


def _without_extra(turn: Turn) -> Turn:
    calls = tuple(Observed(call.tool, call.args, call.observation, (call.call_id or "")[:20]) for call in turn.calls)
    return Turn(turn.thought, calls, turn.kept, turn.notice)


def test_what_a_message_and_its_calls_carried_is_sent_again_on_them() -> None:
    signature = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    calls = (Observed("calculator", {"expression": "1"}, "1", "a", signature), Observed("calculator", {}, "2", "a"))
    turn = Turn("Both.", calls, "Both.", extra={"reasoning_content": "Let me see."})
    acting = messages(dialect("native"), "s", [], "q", [turn])[2]
    assert acting["reasoning_content"] == "Let me see."
    assert [call.get("extra_content") for call in acting["tool_calls"]] == [signature["extra_content"], None]
    assert [call["id"] for call in acting["tool_calls"]] == ["call00001", "call00002"]


@pytest.mark.parametrize("name", [name for name in DIALECTS if name != "native"])
def test_in_a_text_dialect_the_message_gets_back_what_it_carried_too(name: str) -> None:
    turn = Turn("I look.", (Observed("calculator", {"expression": "1"}, "1"),), extra={"reasoning_content": "hm"})
    unclear = Turn("", (), "hm", "Write it right.", extra={"reasoning_content": "so"})
    found = messages(dialect(name), "s", [], "q", [turn, unclear])
    assert [message.get("reasoning_content") for message in found] == [None, None, "hm", None, "so", None]


def test_an_id_that_the_endpoints_own_fields_name_goes_back_with_its_result() -> None:
    details: dict[str, Any] = {"reasoning_details": [{"type": "reasoning.encrypted", "id": "tool_x", "data": "e"}]}
    turn = Turn("", (Observed("calculator", {}, "1", "tool_x"),), extra=details)
    _, _, acting, result = messages(dialect("native"), "s", [], "q", [turn])
    assert (acting["tool_calls"][0]["id"], result["tool_call_id"]) == ("tool_x", "tool_x")


def test_the_last_notice_stands_in_the_last_result_since_only_the_assistant_may_follow_it() -> None:
    turn = Turn("", (Observed("calculator", {}, "1"), Observed("calculator", {}, "2")))
    found = messages(dialect("native"), "s", [], "q", [turn], "Answer now.")
    assert [message["role"] for message in found] == ["system", "user", "assistant", "tool", "tool"]
    assert [message["content"] for message in found[3:]] == ["<result>1</result>", "<result>2</result>\n\nAnswer now."]
