"""What Flower shows of a task names ids, and never what somebody asked."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from worker import flowerconfig


def shown(**fields: str | None) -> SimpleNamespace:
    nothing = {"args": None, "kwargs": None, "result": None, "exception": None, "traceback": None}
    task: SimpleNamespace = flowerconfig.format_task(SimpleNamespace(**{**nothing, **fields}))
    return task


@pytest.mark.parametrize(
    "kwargs",
    [
        "run=r1 step=2 call=3 attempt=4",
        "{'run': 'r1', 'step': 2, 'call': 3, 'attempt': 4}",
        '{"run": "r1", "step": 2, "call": 3, "attempt": 4}',
    ],
)
def test_a_row_names_run_step_call_and_attempt(kwargs: str) -> None:
    assert shown(kwargs=kwargs).kwargs == "step 2 · call 3 · attempt 4 · run r1"


def test_a_question_that_came_along_is_dropped() -> None:
    task = shown(
        args="('who shot whom?',)",
        kwargs="{'run': 'r1', 'question': 'who shot whom?'}",
        result="'It was who shot whom.'",
        exception="ToolError('who shot whom? was not found')",
        traceback="ToolError: who shot whom?",
    )
    assert "shot" not in repr(vars(task))
    assert task.kwargs == "run r1"
    assert task.exception == "ToolError: see `stepmill run show r1`"


def test_an_outcome_in_one_word_is_kept() -> None:
    assert shown(result="'discarded'").result == "discarded"


def test_flower_is_bounded_read_only_and_on_loopback() -> None:
    assert flowerconfig.address == "127.0.0.1"
    assert flowerconfig.read_only
    assert flowerconfig.max_tasks <= 10_000
