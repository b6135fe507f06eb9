"""What is read from a request: the question, the tools, the observations, and remarks that are none of these."""

from __future__ import annotations

import pytest

from tests.simulator.conversations import native_tools, opening
from worker.simulator.reading import listed_tools, read
from worker.simulator.records import Observation

ACTION = {"role": "assistant", "content": 'Thought: x\nAction: calculator\nAction Input: {"expression": "3 + 4"}'}


def after(*messages: dict[str, str]) -> list[Observation]:
    body = opening("What is 3 + 4?")
    body["messages"] += messages
    return list(read(body).observations)


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def test_tools_are_listed_with_their_parameters() -> None:
    tools = listed_tools('- a(x: string, y?: integer, z: "p, q" | null = 3)\n  - b(no: tool)\n- c()\n')
    assert list(tools) == ["a", "c"]
    assert [(param.name, param.required) for param in tools["a"].params] == [("x", True), ("y", False), ("z", False)]


def test_native_tools_are_read_from_their_schemas() -> None:
    body = opening("x", "native")
    assert body["tools"] == native_tools()
    assert [param.name for param in read(body).tools["get_attraction"].params] == ["city", "weather"]


def test_observations_follow_the_question_in_order() -> None:
    assert after(ACTION, user("Observation: 7"), ACTION, user("Observation: 8")) == [Observation("7"), Observation("8")]


@pytest.mark.parametrize(
    "text",
    [
        "Error: no such thing",
        "Cannot compute this: a division by zero.",
        '"Atlantis" is not in the demo table. It holds Beijing.',
        "calculator failed with ValueError: x. Try other arguments or another way.",
        "calculator: `expression` is missing. It takes expression (string).",
        "The outcome is unknown: the worker was lost.",
        "ZeroDivisionError: division by zero",
        "The program was stopped: out of time. It ran longer than 55 s.",
        "Python cannot be run here, since no isolation works.",
        "get_weather did not finish within 20 s. Try a smaller request, or another way.",
    ],
)
def test_a_failure_is_told_from_a_result(text: str) -> None:
    assert after(ACTION, user(f"Observation: {text}")) == [Observation(text, failed=True)]


@pytest.mark.parametrize(
    "text", ["66", "Beijing: sunny, 22 °C", "4 characters", "1. How errors are handled\nhttps://a.b"]
)
def test_a_result_is_no_failure(text: str) -> None:
    assert after(ACTION, user(f"Observation: {text}")) == [Observation(text)]


def test_a_remark_on_the_reply_is_neither_observation_nor_question() -> None:
    body = opening("What is 3 + 4?")
    body["messages"] += [
        {"role": "assistant", "content": "Let me think."},
        user("There was nothing to act upon. Write one action or one answer."),
    ]
    conversation = read(body)
    assert conversation.question == "What is 3 + 4?"
    assert conversation.observations == ()
    assert conversation.corrected


@pytest.mark.parametrize("gap", ["\n\n", "\n"])
def test_an_observation_survives_the_call_to_answer_behind_it(gap: str) -> None:
    body = opening("What is 3 + 4?")
    body["messages"] += [ACTION, user(f"Observation: 7{gap}This was the last step. Answer now.")]
    conversation = read(body)
    assert conversation.observations == (Observation("7"),)
    assert conversation.told_to_answer


def test_few_shot_examples_are_not_the_question() -> None:
    body = opening("What is 1 + 1?")
    body["messages"] += [
        ACTION,
        user("Observation: 2"),
        {"role": "assistant", "content": "Thought: x\nAnswer: 2"},
        user("What is 5 + 5?"),
        ACTION,
        user("Observation: 10"),
    ]
    conversation = read(body)
    assert conversation.question == "What is 5 + 5?"
    assert conversation.observations == (Observation("10"),)


def test_a_prompt_in_one_user_message_is_split_at_its_question() -> None:
    system, question = opening("What is 3 + 4?")["messages"]
    merged = [user(f"{system['content']}\n\nQuestion: {question['content']}")]
    conversation = read({"messages": merged})
    assert conversation.question == "What is 3 + 4?"
    assert "calculator" in conversation.tools
    assert conversation.form == "react_json"


def test_odd_messages_are_read_as_far_as_they_go() -> None:
    body = {"messages": [None, {"role": "user"}, {"role": "user", "content": [{"type": "text", "text": "Hi"}, 3]}]}
    assert read(body).question in ("", "Hi")
