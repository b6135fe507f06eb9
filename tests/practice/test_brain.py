"""Whole runs: each observation leads to the next step, and the answer contains only what was observed."""

from __future__ import annotations

import pytest

from tests.practice.conversations import FORMS, converse, opening, told
from worker.practice.brain import think
from worker.practice.reading import read
from worker.practice.records import Act, Call, Say


def made_up(call: Call) -> str:
    """Tools whose results are wrong on purpose: an answer that repeats them was not computed by the brain."""
    return {
        "calculator": f"{call.args.get('expression')} = 1234",
        "count_characters": "77 characters",
        "current_time": "Monday, 2001-01-01 00:00:00 (here)",
        "convert_time": "2001-01-01 00:00:00 (here) is 2000-12-31 11:00:00 (there). It is 13 h behind.",
        "get_weather": "Beijing: light rain, 3 °C. (Demo data: from a table.)",
        "get_attraction": "Beijing, weather light rain: visit the Old Library, which is indoors. (Demo data.)",
    }[call.tool]


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_repeats_what_the_tool_said_in_every_form(form: str) -> None:
    answer, steps = converse("What is (15 + 7) × 3?", made_up, form)
    assert answer == "1234"
    assert [call.tool for step in steps for call in step] == ["calculator"]


@pytest.mark.parametrize("form", FORMS)
def test_the_weather_leads_to_a_sight_that_suits_it(form: str) -> None:
    answer, steps = converse("What is the weather in Beijing, and which sight suits it?", made_up, form)
    assert steps[1] == [Call("get_attraction", {"city": "Beijing", "weather": "light rain"})]
    assert answer == (
        "The weather: Beijing: light rain, 3 °C. (Demo data: from a table.)\n"
        "A sight that suits it: Beijing, weather light rain: visit the Old Library, which is indoors. (Demo data.)"
    )


@pytest.mark.parametrize(
    "question",
    [
        "Multiply 12 by 7, then divide the result by 4, then add 3.",
        "12 乘以 7，然后除以 4，然后加 3，等于多少？",
    ],
)
def test_chained_arithmetic_goes_on_from_each_result(question: str) -> None:
    _, steps = converse(question, made_up)
    assert [step[0].args["expression"] for step in steps] == ["12 * 7", "1234 / 4", "1234 + 3"]


def test_a_negative_result_is_bracketed_in_the_next_expression() -> None:
    _, steps = converse("What is 3 - 5, then multiply by 2?", lambda call: f"{call.args['expression']} = -2")
    assert steps[1][0].args["expression"] == "(-2) * 2"


def test_two_clocks_are_read_side_by_side_in_native_and_in_turn_elsewhere() -> None:
    question = "What is the time in Beijing compared with New York?"
    _, native = converse(question, made_up, "native")
    answer, text = converse(question, made_up, "react_json")
    assert [len(step) for step in native] == [3]
    assert [len(step) for step in text] == [1, 1, 1]
    moment = "Monday, 2001-01-01 00:00:00 (here)"
    assert answer == f"Beijing: {moment}\nNew York: {moment}\nIt is 13 h behind."


def test_answers_come_in_the_language_of_the_question() -> None:
    answer, _ = converse("今天星期几，现在几点？", made_up)
    assert answer == "时间：星期一, 2001-01-01 00:00:00 (here)"


@pytest.mark.parametrize("form", FORMS)
def test_a_call_that_fails_is_made_once_more_and_then_given_up(form: str) -> None:
    answer, steps = converse("What is the weather in Beijing?", lambda call: f"{call.tool} failed with Boom.", form)
    assert [step[0].tool for step in steps] == ["get_weather", "get_weather"]
    assert answer == "I do not know the answer."


@pytest.mark.parametrize("form", FORMS)
def test_of_independent_calls_only_what_failed_is_made_once_more(form: str) -> None:
    question, left = "What is the time in Beijing compared with New York?", ["It was stopped. Ask for it again."]
    answer, steps = converse(question, lambda call: left.pop() if left else made_up(call), form)
    undisturbed, calm = converse(question, made_up, form)
    assert answer == undisturbed
    assert steps[1] == steps[0][:1] and len(steps) == len(calm) + 1


def test_one_of_two_questions_may_fail_and_the_other_is_answered() -> None:
    def run(call: Call) -> str:
        return "Error: no clock" if call.tool != "calculator" else "= 391"

    answer, _ = converse("What is 17 × 23, and what time is it in Tokyo?", run)
    assert answer == "391\nI do not know the answer."


@pytest.mark.parametrize("form", FORMS)
def test_told_to_answer_it_answers_with_what_it_has(form: str) -> None:
    body = opening("What is the weather in Beijing, and which sight suits it?", form)
    act = think(read(body))
    assert isinstance(act, Act)
    told(body, act, ["Beijing: sunny"])
    body["messages"][-1]["content"] += "\n\nThis is your last step: answer now with what you have."
    step = think(read(body))
    assert isinstance(step, Say)
    assert step.answer == "As far as I got: Beijing: sunny"


def test_told_to_answer_knowing_nothing_it_says_so() -> None:
    body = opening("What is 3 + 4?")
    body["messages"] += [{"role": "assistant", "content": "?"}, {"role": "user", "content": "Please answer now."}]
    step = think(read(body))
    assert isinstance(step, Say)
    assert step.answer == "I do not know the answer."


def test_an_unreadable_reply_is_written_again_with_the_same_intent() -> None:
    body = opening("What is 3 + 4?")
    first = think(read(body))
    body["messages"] += [
        {"role": "assistant", "content": "Let me think."},
        {"role": "user", "content": "There is no action in it. Write `Thought:` and `Action:`."},
    ]
    conversation = read(body)
    assert conversation.corrected
    assert think(conversation) == first


def test_a_chart_is_searched_read_drawn_and_its_source_named() -> None:
    def run(call: Call) -> str:
        if call.tool == "web_search":
            return "1. Share prices\n   https://example.org/blocked\n2. More prices\n   https://example.org/prices"
        if call.tool == "fetch_url":
            blocked = call.args["url"].endswith("blocked")
            return "fetch_url failed: 403" if blocked else "2026-11-01: 10.5\n2026-11-02: 11.0"
        return "Saved file chart.png" if call.tool == "python_executor" else "Monday, 2026-11-30"

    answer, steps = converse("Draw a chart of Acme's share price over the last 7 days.", run)
    drawn = next(step[0] for step in steps if step[0].tool == "python_executor")
    assert "values = [10.5, 11.0]" in drawn.args["code"]
    assert "Saved file chart.png" in answer
    assert "More prices, https://example.org/prices, Monday, 2026-11-30" in answer


def test_calls_in_turn_give_runs_of_any_length() -> None:
    question = "Do these in turn: " + ", ".join(f"calculator(expression='{n} + 1')" for n in range(20))
    answer, steps = converse(question, made_up, steps=25)
    assert len(steps) == 20
    assert answer.splitlines() == [f"{n} + 1 = 1234" for n in range(20)]
