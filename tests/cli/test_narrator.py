"""How a run is printed."""

from __future__ import annotations

from typing import Any

import pytest

from worker.cli.events import Event
from worker.cli.narrator import Narrator

RECORD: dict[str, Any] = {
    "run_id": "run_1",
    "status": "succeeded",
    "answer": "66",
    "partial_answer": None,
    "error": None,
    "model": "gpt-x",
    "simulated": False,
    "steps": 2,
    "usage": {"prompt_tokens": 1200, "cached_tokens": 0, "completion_tokens": 34},
    "cost_usd": 0.0123,
    "wasted": {"tokens": 0, "cost_usd": 0.0},
}


class HandClock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def told(capsys: pytest.CaptureFixture[str], *events: Event) -> str:
    narrator = Narrator()
    for event in events:
        narrator.tell(event)
    return capsys.readouterr().out


def test_thought_action_and_observation_are_told_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    calls = [{"call": 1, "tool": "calculator", "args": {"expression": "(15+7)*3"}}]
    out = told(
        capsys,
        Event("step", {"step": 1, "thought": "I compute.", "calls": calls, "notice": None}, "1"),
        Event("observation", {"step": 1, "call": 1, "outcome": "ok", "observation": "66\nexactly"}, "2"),
    )
    assert out.splitlines() == [
        "Step 1",
        "Thought:     I compute.",
        'Action:      calculator {"expression": "(15+7)*3"}',
        "Observation: 66",
        "             exactly",
    ]


def test_the_end_tells_answer_cost_and_who_answered(capsys: pytest.CaptureFixture[str]) -> None:
    out = told(capsys, Event("end", RECORD, "3"))
    assert "Answer:      66" in out
    assert "2 steps · 1,234 tokens · $0.0123 · answered by gpt-x · run_1" in out


def test_a_simulated_answer_says_so_and_has_no_cost(capsys: pytest.CaptureFixture[str]) -> None:
    out = told(capsys, Event("end", {**RECORD, "simulated": True}, "3"))
    assert "answered by the practice model" in out
    assert "$" not in out


def test_a_failed_run_tells_why_and_its_last_words(capsys: pytest.CaptureFixture[str]) -> None:
    error = {"code": "max_steps", "message": "It had 10 steps and gave no answer."}
    failed = {**RECORD, "status": "failed", "answer": None, "error": error, "partial_answer": "Perhaps 66"}
    out = told(capsys, Event("end", {**failed, "cost_usd": None, "wasted": {"tokens": 50, "cost_usd": None}}, "3"))
    assert "failed: It had 10 steps and gave no answer. (max_steps)" in out
    assert "Last words:  Perhaps 66" in out
    assert "50 tokens wasted by repeats" in out
    assert "· – ·" in out


def test_a_failed_attempt_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    data = {"step": 1, "call": 0, "attempt": 2, "outcome": "error", "error": "the endpoint answered 500"}
    assert "model call, attempt 2: the endpoint answered 500" in told(capsys, Event("attempt_failed", data))


def test_events_of_later_versions_are_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, Event("confetti", {})) == ""


def test_a_wait_is_told_once_and_only_when_it_lasts(capsys: pytest.CaptureFixture[str]) -> None:
    clock = HandClock()
    narrator = Narrator(clock)
    for now_s in (0.0, 1.0, 2.0, 3.0):
        clock.now_s = now_s
        narrator.tell(Event("status", {"waiting": f"It waits in think, for {now_s:.0f} s now."}))
    assert capsys.readouterr().out.splitlines() == ["Waiting:     It waits in think, for 2 s now."]
    narrator.tell(Event("status", {"waiting": "It waits for something else."}))
    assert capsys.readouterr().out == ""
