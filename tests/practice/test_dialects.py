"""The practice model understands what the engine sends in every dialect, and knows none of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialects.test_contract import ALL
from worker.core.records import Malformed, Observed, Reply, Turn
from worker.dialects import DIALECTS, dialect
from worker.dialects.prompt import messages, system_prompt
from worker.practice.reading import read
from worker.practice.records import Conversation

NAMES = list(DIALECTS)
QUESTION = "How warm is it?"
LOOKED = Turn("I look.", (Observed("calculator", {"expression": "1"}, "3 °C"),))
UNREADABLE = [
    ("", "stop"),
    ("Thought: well", "length"),
    ('<tool_call>{"name": ', "stop"),
    ("I will look.", "tool_calls"),
]


def heard(name: str, *turns: Turn, last: str | None = None) -> Conversation:
    """What the practice model reads where a run has come so far."""
    spoken = dialect(name)
    sent = messages(spoken, system_prompt(spoken, ALL), [], QUESTION, turns, last)
    body: dict[str, Any] = {"messages": sent, **spoken.request(ALL)}
    return read(body)


@pytest.mark.parametrize("name", NAMES)
def test_it_finds_the_form_the_question_and_every_tool_with_its_parameters(name: str) -> None:
    conversation = heard(name)
    assert (conversation.form, conversation.question) == (name, QUESTION)
    listed = {tool.name: [param.name for param in tool.params] for tool in conversation.tools.values()}
    assert listed == {tool.name: list(tool.parameters["properties"]) for tool in ALL}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("text", "finish_reason"), UNREADABLE)
def test_what_is_said_of_a_reply_that_cannot_be_read_is_a_correction(name: str, text: str, finish_reason: str) -> None:
    parsed = dialect(name).parse(Reply(text, finish_reason), ALL)
    assert isinstance(parsed, Malformed)
    conversation = heard(name, LOOKED, Turn(parsed.thought, kept=parsed.kept, notice=parsed.reason))
    assert conversation.corrected and not conversation.told_to_answer
    assert conversation.question == QUESTION
    assert [seen.text for seen in conversation.observations] == ["3 °C"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("turns", [(), (LOOKED,)])
def test_a_last_notice_is_a_call_to_answer(name: str, turns: tuple[Turn, ...]) -> None:
    conversation = heard(name, *turns, last="Call no more tools: answer now with what you have.")
    assert conversation.told_to_answer and not conversation.corrected
    assert conversation.question == QUESTION
    assert [seen.text for seen in conversation.observations] == ["3 °C"] * len(turns)
