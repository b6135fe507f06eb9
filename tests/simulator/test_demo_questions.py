"""The demo's questions against the real tools: each answered, the exact ones exactly, in every form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.simulator.conversations import FORMS, TOOL_LINES, converse
from tools.base import ToolError
from tools.registry import load_tools
from worker.demo_questions import demo_questions
from worker.simulator.records import Call

EXAMPLES = Path(__file__).parents[2] / "examples" / "questions.jsonl"
NOT_KNOWN = (
    "I do not know",
    "不知道",
    "No sé",
    "weiß ich nicht",
    "ne connais pas",
    "わかりません",
    "Non so",
    "Não sei",
)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPMILL_WEATHER_OFFLINE", "1")


def answered(question: str, form: str) -> str:
    registry = load_tools().tools

    def run(call: Call) -> str:
        try:
            return registry[call.tool].call(call.args).observation
        except ToolError as error:
            return error.message

    return converse(question, run, form, TOOL_LINES)[0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_demo_is_answered_by_the_real_tools(form: str, seed: int) -> None:
    for record in demo_questions(seed):
        answer = answered(record["question"], form)
        assert answer == record.get("expected", answer), record
        assert not any(words in answer for words in NOT_KNOWN), (record, answer)


def test_the_demo_has_enough_questions_in_enough_languages() -> None:
    records = demo_questions(1)
    assert len(records) >= 26
    assert len({record["custom_id"] for record in records}) == len(records)
    assert {record["custom_id"].rpartition("-")[2] for record in records} >= {"en", "zh", "es", "de", "fr", "ja"}


def test_numbers_are_drawn_afresh_unless_seeded() -> None:
    assert demo_questions(5) == demo_questions(5)
    assert demo_questions(5) != demo_questions(6)


def test_the_example_file_is_answered_exactly() -> None:
    records = [json.loads(line) for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]
    assert len(records) >= 24
    for record in records:
        answer = answered(record["question"], "react_json")
        assert answer == record.get("expected", answer), record
        assert not any(words in answer for words in NOT_KNOWN), (record, answer)
