"""Which tool a question leads to, with which arguments, in several languages."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulator.conversations import TOOL_LINES, first_call, intent
from worker.simulator.records import Act, Say


@pytest.mark.parametrize(
    ("question", "expression"),
    [
        ("What is (15 + 7) × 3?", "(15 + 7) * 3"),
        ("(15 + 7) × 3 等于多少？", "(15 + 7) * 3"),
        ("（15＋7）×3 是多少？", "(15+7)*3"),
        ("Was ist 12 mal 7?", "12 * 7"),
        ("¿Cuánto es 84 dividido entre 4?", "84 / 4"),
        ("Combien font 12 fois 7 ?", "12 * 7"),
        ("Сколько будет 17 умножить на 6?", "17 * 6"),
        ("12 かける 7 はいくつ？", "12 * 7"),
        ("What is 1,250 + 3,750?", "1250 + 3750"),
        ("What is 15% of 240?", "15 / 100 * 240"),
        ("What is the square root of 1764?", "sqrt(1764)"),
        ("2的10次方是多少？", "2 ** 10"),
        ("Please work out 9**9**9.", "9**9**9"),
        ("What is 2^10 - 24?", "2**10 - 24"),
        ("What is the sum of 3 and 4?", "3 + 4"),
        ("Compute sin(0.5) + log(10)", "sin(0.5) + log(10)"),
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
        ("“人工智能”有多少个字？", {"text": "人工智能"}),
        ('How many times does the letter r occur in "strawberry"?', {"text": "strawberry", "character": "r"}),
        ("How many letters are in the word banana?", {"text": "banana"}),
        ("¿Cuántas letras tiene la palabra «murciélago»?", {"text": "murciélago"}),
        ("Wie viele Zeichen hat „Straßenbahn“?", {"text": "Straßenbahn"}),
        ("Combien de caractères dans « bonjour » ?", {"text": "bonjour"}),
    ],
)
def test_counting_characters_finds_the_text(question: str, args: dict[str, str]) -> None:
    assert first_call(question) == ("count_characters", args)


@pytest.mark.parametrize(
    ("question", "tool", "args"),
    [
        ("What weekday is it today and what time is it?", "current_time", {"timezone": "UTC"}),
        ("今天星期几，现在几点？", "current_time", {"timezone": "UTC"}),
        ("¿Qué hora es en Madrid?", "current_time", {"timezone": "Europe/Madrid"}),
        ("東京は今何時ですか？", "current_time", {"timezone": "Asia/Tokyo"}),
        ("What time is it in Asia/Kathmandu?", "current_time", {"timezone": "Asia/Kathmandu"}),
        ("What moment is 100 hours from now?", "date_add", {"hours": 100}),
        ("100小时后是什么时候？", "date_add", {"hours": 100}),
        ("¿Qué fecha será dentro de 3 días y 4 horas?", "date_add", {"days": 3, "hours": 4}),
        ("What date was 2 weeks ago?", "date_add", {"weeks": -2}),
        ("Welches Datum ist 45 Tage nach 2026-03-01?", "date_add", {"days": 45, "start": "2026-03-01"}),
        (
            "When it is 15:30 in Berlin, what time is it in Tokyo?",
            "convert_time",
            {"time": "15:30", "from_timezone": "Europe/Berlin", "to_timezone": "Asia/Tokyo"},
        ),
        (
            "If it is 3 pm in New York, what time is it in London?",
            "convert_time",
            {"time": "15:00", "from_timezone": "America/New_York", "to_timezone": "Europe/London"},
        ),
    ],
)
def test_questions_about_time_find_tool_and_zone(question: str, tool: str, args: dict[str, Any]) -> None:
    assert first_call(question) == (tool, args)


@pytest.mark.parametrize(
    ("question", "city"),
    [
        ("What is the weather in Beijing?", "Beijing"),
        ("北京天气怎么样？", "Beijing"),
        ("パリの天気は？", "Paris"),
        ("Wie ist das Wetter in München?", "Munich"),
        ("Какая погода в Москве?", "Moscow"),
        ("What is the weather in Springfield?", "Springfield"),
    ],
)
def test_weather_finds_the_city(question: str, city: str) -> None:
    assert first_call(question) == ("get_weather", {"city": city})


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("Use Python to compute the sum of the squares from 1 to 20.", "print(sum(n * n for n in range(1, 20 + 1)))"),
        ("用 Python 计算 5 的阶乘", "import math\nprint(math.factorial(5))"),
        ("Use Python to sort 5, 3, 9 and 1.", "print(sorted([5, 3, 9, 1]))"),
        ("Use Python to compute 7 * 6", "from math import *\nprint(7 * 6)"),
        ("Run this Python:\n```python\nx = 'a: b'\nprint(x)\n```", "x = 'a: b'\nprint(x)"),
    ],
)
def test_asking_for_python_gets_a_program(question: str, code: str) -> None:
    assert first_call(question) == ("python_executor", {"code": code})


def test_primes_below_a_number_become_a_program() -> None:
    tool, args = first_call("Write Python code that lists the primes below 50.")
    assert tool == "python_executor"
    assert "range(2, 50)" in args["code"]


@pytest.mark.parametrize(
    ("question", "tool", "args"),
    [
        (
            "How many rows does the table orders of database shop have?",
            "sql_query",
            {"query": "SELECT count(*) FROM orders", "database": "shop"},
        ),
        (
            "Run `SELECT name FROM users` on database crm.",
            "sql_query",
            {"query": "SELECT name FROM users", "database": "crm"},
        ),
        ("What does the file notes/today.txt say?", "read_file", {"path": "notes/today.txt"}),
        ("Summarise https://example.org/a?b=1.", "fetch_url", {"url": "https://example.org/a?b=1"}),
        ("Who painted the Night Watch?", "web_search", {"query": "Who painted the Night Watch?"}),
    ],
)
def test_data_pages_and_searches_take_their_arguments_from_the_words(
    question: str, tool: str, args: dict[str, Any]
) -> None:
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
    step = intent("¿Quién eres?", tools="- get_weather(city: string)\n")
    assert isinstance(step, Say)
    assert step.answer == "No sé la respuesta."


def test_two_questions_in_one_are_asked_side_by_side_where_the_form_allows() -> None:
    step = intent("What is 17 × 23, and what time is it in Tokyo?", "native")
    assert isinstance(step, Act)
    assert [call.tool for call in step.calls] == ["calculator", "current_time"]


def test_there_means_the_place_named_before() -> None:
    step = intent("What is the weather in Tokyo, and what time is it there?", "native")
    assert isinstance(step, Act)
    assert step.calls[1].args == {"timezone": "Asia/Tokyo"}


def test_a_very_long_question_is_read_quickly() -> None:
    step = intent("有" * 100_000 + "多少字符 (1 + " * 2000)
    assert step is not None
