"""Each of the six forms, word for word."""

from __future__ import annotations

import json

import pytest

from tests.practice.conversations import FORMS, TOOL_LINES, prompt
from worker.practice.forms import native_calls, write
from worker.practice.instructions import form_of, listed_tools
from worker.practice.records import Act, Call, Say

TOOLS = listed_tools(TOOL_LINES)
WEATHER = Act("Look.", (Call("get_weather", {"city": "Beijing"}),))
SIGHT = Act("Go.", (Call("get_attraction", {"city": "Beijing", "weather": "light rain"}),))
CODE = Act("Run.", (Call("python_executor", {"code": "x = 1\nprint(x)"}),))


@pytest.mark.parametrize("form", [form for form in FORMS if form != "native"])
def test_the_form_is_told_from_the_prompt(form: str) -> None:
    assert form_of(prompt(form)) == form


def test_a_prompt_without_any_form_gets_plain_prose() -> None:
    assert form_of("You are helpful.") == "plain"


@pytest.mark.parametrize(
    ("form", "weather", "sight"),
    [
        (
            "react_json",
            'Thought: Look.\nAction: get_weather\nAction Input: {"city": "Beijing"}',
            'Thought: Go.\nAction: get_attraction\nAction Input: {"city": "Beijing", "weather": "light rain"}',
        ),
        (
            "react_text",
            "Thought: Look.\nAction: get_weather\nAction Input: Beijing",
            'Thought: Go.\nAction: get_attraction\nAction Input: {"city": "Beijing", "weather": "light rain"}',
        ),
        (
            "react_brackets",
            "Thought: Look.\nAction: get_weather[[Beijing]]",
            'Thought: Go.\nAction: get_attraction[[{"city": "Beijing", "weather": "light rain"}]]',
        ),
        (
            "react_call",
            'Thought: Look.\nAction: get_weather(city="Beijing")',
            'Thought: Go.\nAction: get_attraction(city="Beijing", weather="light rain")',
        ),
        (
            "json",
            '{"type": "tool_call", "tool_name": "get_weather", "tool_args": {"city": "Beijing"}}',
            '{"type": "tool_call", "tool_name": "get_attraction", '
            '"tool_args": {"city": "Beijing", "weather": "light rain"}}',
        ),
    ],
)
def test_actions_are_written_as_the_form_asks(form: str, weather: str, sight: str) -> None:
    assert write(WEATHER, form, TOOLS) == weather
    assert write(SIGHT, form, TOOLS) == sight


@pytest.mark.parametrize(
    ("form", "answer"),
    [
        ("react_json", "Thought: Done.\nAnswer: It is 4."),
        ("react_text", "Thought: Done.\nFinal Answer: It is 4."),
        ("react_brackets", "Thought: Done.\nFinal Answer: It is 4."),
        ("react_call", "Thought: Done.\nAction: Finish[It is 4.]"),
        ("json", '{"type": "answer", "content": "It is 4."}'),
        ("native", "It is 4."),
        ("plain", "It is 4."),
    ],
)
def test_answers_are_written_as_the_form_asks(form: str, answer: str) -> None:
    assert write(Say("Done.", "It is 4."), form, TOOLS) == answer


def test_a_program_comes_in_a_fenced_block_in_react_json() -> None:
    assert write(CODE, "react_json", TOOLS) == (
        "Thought: Run.\nAction: python_executor\nAction Input:\n```python\nx = 1\nprint(x)\n```"
    )


def test_a_program_comes_as_it_is_where_input_is_plain_text() -> None:
    assert write(CODE, "react_text", TOOLS).endswith("Action Input: x = 1\nprint(x)")


def test_native_calls_have_ids_and_arguments_as_json_text() -> None:
    calls = native_calls(Act("", (*WEATHER.calls, *SIGHT.calls)), "abc")
    assert [call["id"] for call in calls] == ["call_abc0", "call_abc1"]
    assert json.loads(calls[1]["function"]["arguments"]) == SIGHT.calls[0].args
