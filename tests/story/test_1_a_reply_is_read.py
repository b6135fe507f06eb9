"""Chapter 1. A model writes text. A dialect reads it as actions, as an answer, or as neither, with a reason."""

from __future__ import annotations

from tools.registry import load_tools
from worker.core.records import Actions, Answer, Malformed, Reply
from worker.dialects import dialect

TOOLS = list(load_tools().tools.values())


def test_a_reply_that_names_a_tool_is_an_action() -> None:
    reply = Reply('Thought: I must add.\nAction: calculator\nAction Input: {"expression": "2 + 2"}')
    read = dialect("react_json").parse(reply, TOOLS)
    assert isinstance(read, Actions)
    assert (read.calls[0].tool, read.calls[0].args, read.thought) == (
        "calculator", {"expression": "2 + 2"}, "I must add.",
    )  # fmt: skip


def test_what_the_model_invents_after_its_action_is_dropped() -> None:
    reply = Reply('Action: calculator\nAction Input: {"expression": "2 + 2"}\nObservation: 5\nAnswer: 5')
    read = dialect("react_json").parse(reply, TOOLS)
    assert isinstance(read, Actions) and "Observation" not in read.kept


def test_a_reply_with_an_answer_ends_the_run() -> None:
    read = dialect("react_json").parse(Reply("Thought: I know.\nAnswer: Four."), TOOLS)
    assert isinstance(read, Answer) and read.text == "Four."


def test_a_reply_that_cannot_be_told_says_how_to_write_it_right() -> None:
    read = dialect("react_json").parse(Reply("Let me think about that."), TOOLS)
    assert isinstance(read, Malformed) and "Action" in read.reason


def test_each_dialect_writes_the_same_call_in_its_own_way() -> None:
    said = {
        "react_text": "Action: calculator\nAction Input: 2 + 2",
        "react_brackets": "Action: calculator[[2 + 2]]",
        "react_call": 'Action: calculator(expression="2 + 2")',
        "json": '{"type": "tool_call", "tool_name": "calculator", "tool_args": {"expression": "2 + 2"}}',
    }
    for name, text in said.items():
        read = dialect(name).parse(Reply(text), TOOLS)
        assert isinstance(read, Actions) and read.calls[0].tool == "calculator", name
