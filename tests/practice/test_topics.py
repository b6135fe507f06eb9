"""Which tool a question leads to, with which arguments, in several languages."""

from __future__ import annotations

from typing import Any

import pytest

from tests.practice.conversations import TOOL_LINES, converse, first_call, intent
from worker.practice.records import Say


@pytest.mark.parametrize(
    ("question", "expression"),
    [
        ("What is (15 + 7) × 3?", "(15 + 7) * 3"),
        ("（15＋7）×3 是多少？", "(15+7)*3"),
        ("What is 3 times 37, minus 12?", "3 * 37 - 12"),
        ("Was ist 12 geteilt durch 3?", "12 / 3"),
        ("What is 1,250 + 3,750?", "1250 + 3750"),
        ("What is 15% of 240?", "15 / 100 * 240"),
        ("What is the square root of 1764?", "sqrt(1764)"),
        ("Please work out 9**9**9.", "9**9**9"),
        ("What is -5 + 3?", "-5 + 3"),
    ],
)
def test_an_expression_in_words_or_signs_goes_to_the_calculator(question: str, expression: str) -> None:
    assert first_call(question) == ("calculator", {"expression": expression})


@pytest.mark.parametrize(
    ("question", "args"),
    [
        ("How many characters are in 我爱编程?", {"text": "我爱编程"}),
        ("我爱编程有几个字符？", {"text": "我爱编程"}),
        ('How many times does the letter r occur in "strawberry"?', {"text": "strawberry", "character": "r"}),
    ],
)
def test_counting_characters_finds_the_text(question: str, args: dict[str, str]) -> None:
    assert first_call(question) == ("count_characters", args)


@pytest.mark.parametrize(
    ("question", "tool", "args"),
    [
        ("What weekday is it today?", "current_time", {"timezone": "UTC"}),
        ("What time is it in Asia/Kathmandu?", "current_time", {"timezone": "Asia/Kathmandu"}),
        ("What time is it in Springfield?", "current_time", {"timezone": "Springfield"}),
        ("What moment is 100 hours from now?", "date_add", {"hours": 100}),
        ("What date is 45 days after 2026-03-01?", "date_add", {"days": 45, "start": "2026-03-01"}),
        (
            "When it is 15:30 in Berlin, what time is it in Tokyo?",
            "convert_time",
            {"time": "15:30", "from_timezone": "Europe/Berlin", "to_timezone": "Asia/Tokyo"},
        ),
        ("北京天气怎么样？", "get_weather", {"city": "Beijing"}),
        ("What is the weather in Springfield?", "get_weather", {"city": "Springfield"}),
        ("What does the file notes/today.txt say?", "read_file", {"path": "notes/today.txt"}),
    ],
)
def test_a_question_finds_its_tool_and_what_the_tool_takes(question: str, tool: str, args: dict[str, Any]) -> None:
    assert first_call(question) == (tool, args)


def test_a_call_spelled_out_is_made_as_it_stands() -> None:
    tools = "- counter(n: integer, label?: string)\n"
    assert first_call('Use counter(n=3, label="a) b") please.', tools) == ("counter", {"n": 3, "label": "a) b"})


def test_a_tool_that_is_not_listed_is_never_used() -> None:
    only_weather = "- get_weather(city: string)\n"
    step = intent("What is 3 + 4?", tools=only_weather)
    assert isinstance(step, Say)
    assert step.answer == "I do not know the answer."


def test_parameter_names_come_from_the_listing() -> None:
    tools = TOOL_LINES.replace("get_weather(city", "get_weather(location")
    assert first_call("What is the weather in Rome?", tools) == ("get_weather", {"location": "Rome"})


def test_not_knowing_is_said_in_the_language_of_the_question() -> None:
    step = intent("¿Qué hora es?", tools="- get_weather(city: string)\n")
    assert isinstance(step, Say)
    assert step.answer == "No sé la respuesta."


def test_there_means_the_place_named_before() -> None:
    _, steps = converse("What is the weather in Tokyo, and what time is it there?", lambda call: "fine")
    assert [step[0].args for step in steps] == [{"city": "Tokyo"}, {"timezone": "Asia/Tokyo"}]


def test_a_very_long_question_is_read_quickly() -> None:
    step = intent("有" * 100_000 + "有几个字符 (1 + " * 2000)
    assert step is not None
