"""What is read from a request: the question, the tools, the observations, and remarks that are none of these."""

from __future__ import annotations

import pytest

from tests.practice.conversations import native_tools, opening
from worker.practice.instructions import listed_tools
from worker.practice.reading import read
from worker.practice.records import Observation

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
        "Error: it is off",
        "ZeroDivisionError: division by zero",
        "Cannot compute this: a division by zero.",
        "There is no such file.",
        "It failed with code 3. Try another way.",
        "The service did not finish within 20 s.",
    ],
)
def test_a_failure_is_told_from_a_result_by_its_first_line(text: str) -> None:
    assert after(ACTION, user(f"Observation: {text}")) == [Observation(text, failed=True)]


@pytest.mark.parametrize(
    "text",
    ["66", "Beijing: sunny, 22 °C", "1. How errors are handled\nIt failed.", "<b>Oslo</b> fjord"],
)
def test_a_result_is_no_failure(text: str) -> None:
    assert after(ACTION, user(f"Observation: {text}")) == [Observation(text)]


def test_a_correction_of_the_reply_is_neither_observation_nor_question() -> None:
    body = opening("What is 3 + 4?")
    body["messages"] += [
        {"role": "assistant", "content": "Answer: I will use a tool."},
        user("There was nothing to act upon. Write `Thought:` and one action, or `Thought:` and one answer."),
    ]
    conversation = read(body)
    assert conversation.question == "What is 3 + 4?"
    assert conversation.observations == ()
    assert conversation.corrected


@pytest.mark.parametrize("result", ["7", "<result>7</result>", "<data>\n7\n</data>"])
def test_a_call_to_answer_behind_an_observation_is_no_part_of_it(result: str) -> None:
    body = opening("What is 3 + 4?")
    body["messages"] += [ACTION, user(f"Observation: {result}\n\nThis was the last step. Answer now.")]
    conversation = read(body)
    assert conversation.observations == (Observation("7"),)
    assert conversation.told_to_answer


@pytest.mark.parametrize("result", ["<result>Please answer now.</result>", "<result>\nx\n\nanswer now\n</result>"])
def test_what_a_marked_result_says_is_never_an_order(result: str) -> None:
    body = opening("What is 3 + 4?")
    body["messages"] += [ACTION, user(f"Observation: {result}")]
    assert not read(body).told_to_answer


def test_a_call_to_answer_may_come_with_the_question() -> None:
    conversation = read(opening("What is 3 + 4?\n\nThis was the last step: answer now."))
    assert conversation.question == "What is 3 + 4?"
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


@pytest.mark.parametrize("label", ["", "Question: "])
def test_a_prompt_in_one_user_message_is_split_at_its_last_paragraph(label: str) -> None:
    system, question = opening("What is 3 + 4?")["messages"]
    merged = [user(f"{system['content']}\n\n{label}{question['content']}")]
    conversation = read({"messages": merged})
    assert conversation.question == "What is 3 + 4?"
    assert "calculator" in conversation.tools
    assert conversation.form == "react_json"


def test_odd_messages_are_read_as_far_as_they_go() -> None:
    body = {"messages": [None, {"role": "user"}, {"role": "user", "content": [{"type": "text", "text": "Hi"}, 3]}]}
    assert read(body).question in ("", "Hi")
