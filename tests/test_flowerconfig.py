"""Flower shows ids of a task, never the text of a question."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import httpx2
import pytest

from worker import flowerconfig
from worker.local.plan import StackPlan, flower_service
from worker.local.supervisor import Supervisor


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


def test_a_flower_without_a_password_answers_under_its_own_names_only(tmp_path: Path) -> None:
    plan = StackPlan(tmp_path, "sqlite:///x.db", flower_port=0).with_ports()
    environment = {"STEPMILL_REDIS_URL": "redis://127.0.0.1:1/0", "STEPMILL_FLOWER_URL": "http://flower.example:9000"}
    supervisor = Supervisor([flower_service(plan, environment)], tmp_path / "logs")
    supervisor.start()
    try:
        answers = {
            host: httpx2.get(f"http://127.0.0.1:{plan.flower_port}/tasks", headers={"Host": host}).status_code
            for host in (
                "localhost:5555",
                "127.0.0.1",
                "[::1]:5555",
                "flower.example",
                "evil.example",
                "127.0.0.1.evil.example",
            )
        }
    finally:
        supervisor.stop()
    refused = {"evil.example", "127.0.0.1.evil.example"}
    assert answers == {host: 404 if host in refused else 200 for host in answers}


def test_flower_is_bounded_read_only_and_on_loopback() -> None:
    assert flowerconfig.address == "127.0.0.1"
    assert flowerconfig.read_only
    assert flowerconfig.max_tasks <= 10_000
