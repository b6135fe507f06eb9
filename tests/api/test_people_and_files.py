"""Calls that wait for a person, and files that tools kept, over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.conftest import Api
from tests.store.conftest import World
from worker.core.config import RunConfig
from worker.core.machine import decide_think
from worker.core.moves import Acted, NewCall
from worker.core.spending import Spent
from worker.store.artifacts import save_artifact
from worker.store.hot.interface import StepRecord
from worker.store.hot.writes import apply_think

RECORD = StepRecord("actions", "Action", "Action", "I act.", "stop", "practice")


def held_run(world: World, held: str) -> str:
    """A run that waits for a person."""
    world.submit()
    (work_message,) = world.admit().work_messages
    work = world.think(work_message)
    decision = decide_think(
        work.hot, Acted((NewCall("transfer", {"euros": 5}, "tools.local", held=held),), "I act."), RunConfig()
    )
    assert apply_think(world.store, work.lease, decision, Spent("ok"), RECORD) is not None
    return work_message.run_id


def test_a_person_approves_a_call_once(api: Api, world: World) -> None:
    run_id = held_run(world, "approval")
    (waiting,) = api.client.get(f"/api/runs/{run_id}/held").json()["held"]
    assert (waiting["tool"], waiting["args"], waiting["held"]) == ("transfer", {"euros": 5}, "approval")
    assert api.client.post(f"/api/runs/{run_id}/approve").json()["approved"]["tool"] == "transfer"
    again = api.client.post(f"/api/runs/{run_id}/approve")
    assert again.status_code == 409 and "waits for a person" in again.json()["error"]["message"]


def test_a_person_refuses_and_the_model_reads_why(api: Api, world: World) -> None:
    run_id = held_run(world, "approval")
    assert api.client.post(f"/api/runs/{run_id}/refuse", json={"reason": "Too much."}).status_code == 200
    (step,) = api.client.get(f"/api/runs/{run_id}").json()["trace"]
    assert step["calls"][0]["observation"] == "A person refused this call of transfer: Too much."


def test_a_person_answers_a_question(api: Api, world: World) -> None:
    run_id = held_run(world, "answer")
    assert api.client.post(f"/api/runs/{run_id}/answer", json={"text": "  "}).status_code == 422
    assert api.client.post(f"/api/runs/{run_id}/approve").status_code == 409, "an answer is wanted, no approval"
    assert api.client.post(f"/api/runs/{run_id}/answer", json={"text": "Blue."}).status_code == 200
    (step,) = api.client.get(f"/api/runs/{run_id}").json()["trace"]
    assert step["calls"][0]["observation"] == "Blue."


@pytest.mark.parametrize(
    ("name", "media_type", "shown"),
    [("a.png", "image/png", "inline"), ("a.html", "text/html", "attachment"), ("a.svg", "image/svg+xml", "attachment")],
)
def test_files_are_served_so_that_a_browser_runs_nothing(
    api: Api, world: World, name: str, media_type: str, shown: str
) -> None:
    world.submit()
    (work_message,) = world.admit().work_messages
    file_id = save_artifact(
        world.store, api.context.settings.data_dir, world.lease(work_message), name, b"<script>", media_type
    )
    (listed,) = api.client.get(f"/api/runs/{work_message.run_id}/artifacts").json()["items"]
    served = api.client.get(listed["href"])
    assert served.content == b"<script>" and listed["id"] == file_id
    assert served.headers["content-disposition"].startswith(shown)
    assert served.headers["x-content-type-options"] == "nosniff"
    assert "text/html" not in served.headers["content-type"]


def test_a_file_outside_the_data_directory_is_not_served(api: Api, world: World, tmp_path: Path) -> None:
    world.submit()
    (work_message,) = world.admit().work_messages
    elsewhere = tmp_path.parent / "elsewhere"
    file_id = save_artifact(world.store, elsewhere, world.lease(work_message), "a.txt", b"secret", "text/plain")
    assert api.client.get(f"/api/artifacts/{file_id}").status_code == 404
    assert api.client.get("/api/artifacts/file_unknown").status_code == 404
