"""`stepmill run` against a real API, without workers."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Run
from worker.cli.client import Client

pytestmark = pytest.mark.usefixtures("api_url")


@pytest.fixture
def run_id(api_url: str) -> str:
    with Client(api_url) as client:
        found: str = client.post("/api/runs", {"question": "Where am I?"})["run_id"]
    return found


def test_show_tells_question_and_state_and_practice_mode(stepmill: Run, run_id: str) -> None:
    ran = stepmill("run", "show", run_id)
    assert ran.code == 0
    assert "Where am I?" in ran.out
    assert "State:" in ran.out
    assert "practice mode" in ran.err


def test_show_as_json_is_the_run(stepmill: Run, run_id: str) -> None:
    shown = stepmill("run", "show", run_id, "--json").json
    assert (shown["run_id"], shown["question"], shown["trace"]) == (run_id, "Where am I?", [])


def test_pause_resume_cancel_say_what_changed(stepmill: Run, run_id: str) -> None:
    assert "paused" in stepmill("run", "pause", run_id).out
    assert "nothing to pause" in stepmill("run", "pause", run_id).out
    assert "continues" in stepmill("run", "resume", run_id).out
    assert "cancelled" in stepmill("run", "cancel", run_id).out
    assert "nothing to cancel" in stepmill("run", "cancel", run_id).out


def test_a_cancelled_run_can_be_followed_to_its_end_and_retried(stepmill: Run, run_id: str) -> None:
    stepmill("run", "cancel", run_id)
    followed = stepmill("run", "follow", run_id)
    assert followed.code == 1
    assert "cancelled" in followed.out
    assert "is queued again" in stepmill("run", "retry", run_id).out


def test_a_run_that_has_not_ended_cannot_be_retried(stepmill: Run, run_id: str) -> None:
    ran = stepmill("run", "retry", run_id)
    assert ran.code == 2
    assert ran.err.startswith("Error: ")


def test_the_list_can_be_narrowed(stepmill: Run, run_id: str) -> None:
    stepmill("run", "cancel", run_id)
    cancelled = stepmill("run", "list", "--state", "cancelled", "--json").json
    assert run_id in [run["run_id"] for run in cancelled]
    assert {run["status"] for run in cancelled} == {"cancelled"}
    assert stepmill("run", "list", "--limit", "1").out.splitlines()[0].startswith("run\tstate")


def test_an_unknown_run_is_named(stepmill: Run) -> None:
    ran = stepmill("run", "show", "run_nowhere")
    assert ran.code == 2
    assert "run_nowhere" in ran.err


def test_an_empty_question_is_refused_before_anything_is_started(stepmill: Run) -> None:
    ran = stepmill("ask", "-", stdin="  \n")
    assert ran.code == 2
    assert "The question is empty." in ran.err
