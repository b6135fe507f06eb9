"""The demo's questions against the real tools: each answered, the exact ones exactly, in every form."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.practice.conversations import FORMS, TOOL_LINES, converse
from tools.base import ToolError
from tools.registry import load_tools
from worker.agents import load_agents
from worker.cli.demo_questions import FILES, demo_questions
from worker.cli.scores import holds
from worker.dialects.parsing.schema_text import list_tools
from worker.practice.records import Call
from worker.settings import Settings

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


AGENTS = load_agents(Settings(_env_file=None, model="", agents_file=None))
BY_AGENT = [record for record in demo_questions(1) if "agent" in record]


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STEPMILL_WEATHER_OFFLINE", "1")
    monkeypatch.setenv("STEPMILL_FILES_DIRS", str(tmp_path))
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)


def answered(question: str, form: str, tools: str = TOOL_LINES) -> str:
    registry = load_tools().tools

    def run(call: Call) -> str:
        try:
            return registry[call.tool].call(call.args).observation
        except ToolError as error:
            return error.message

    return converse(question, run, form, tools)[0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_demo_is_answered_by_the_real_tools(form: str, seed: int) -> None:
    for record in demo_questions(seed):
        answer = answered(record["question"], form)
        assert holds(answer, record.get("expected", answer)), record
        assert not any(words in answer for words in NOT_KNOWN), (record, answer)


@pytest.mark.parametrize("record", BY_AGENT, ids=[record["custom_id"] for record in BY_AGENT])
def test_each_agent_that_ships_answers_its_own_questions_with_its_own_tools(record: dict[str, Any]) -> None:
    config = AGENTS.configuration(record["agent"])
    tools = list_tools(load_tools().known(config.tools))
    asked = datetime.now(UTC)
    answer = answered(record["question"], config.dialect, tools)
    assert holds(answer, record.get("expected", answer))
    assert not any(words in answer for words in NOT_KNOWN)
    if "100 hours" in record["question"]:
        day, clock = re.findall(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d)", answer)[-1]
        then = datetime.fromisoformat(f"{day} {clock}+00:00")
        assert abs(then - asked - timedelta(hours=100)) < timedelta(minutes=2)


def test_every_agent_that_ships_has_questions() -> None:
    assert {record["agent"] for record in BY_AGENT} == set(AGENTS.agents)


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
