"""A run can be read with all that happened to it, paused, resumed and cancelled."""

from __future__ import annotations

from tests.api.conftest import Api
from tests.api.words import act, admit_work_messages, answer, fail, observe
from tests.store.conftest import World


def ask(api: Api, question: str = "What is 1+1?", **options: object) -> str:
    body = {"question": question, "klass": "batch", **options}
    return str(api.client.post("/api/runs", json=body).json()["run_id"])


def test_a_run_shows_steps_calls_attempts_and_their_task_ids(api: Api, moved: World) -> None:
    run_id = ask(api)
    first, second = act(moved, admit_work_messages(moved)[run_id], calls=2)
    observe(moved, first)
    run = api.client.get(f"/api/runs/{run_id}").json()
    assert (run["status"], run["phase"], run["steps"]) == ("active", "act", 0)
    assert run["dialect"] == "react_json" and run["agent"] == "assistant" and run["simulated"] is True
    calls = run["trace"][0]["calls"]
    assert [(call["state"], call["task_id"]) for call in calls] == [
        ("done", f"{run_id}.1.1.1"), ("pending", f"{run_id}.1.2.1")
    ]  # fmt: skip
    assert run["trace"][0]["task_id"] == f"{run_id}.1.0.1"
    assert "call of calculator waits in tools.local" in run["waiting"]
    (work_message,) = observe(moved, second)
    answer(moved, work_message, "2")
    run = api.client.get(f"/api/runs/{run_id}").json()
    assert (run["status"], run["answer"], run["steps"], run["waiting"]) == ("succeeded", "2", 2, None)
    assert [(a["step"], a["call"], a["outcome"]) for a in run["attempts_log"]] == [
        (1, 0, "ok"), (1, 1, "ok"), (1, 2, "ok"), (2, 0, "ok")
    ]  # fmt: skip


def test_a_paused_run_says_so_and_goes_on_when_resumed(api: Api, moved: World) -> None:
    run_id = ask(api)
    paused = api.client.post(f"/api/runs/{run_id}/pause").json()
    assert paused["paused"] and paused["changed"] and "run resume" in paused["waiting"]
    resumed = api.client.post(f"/api/runs/{run_id}/resume").json()
    assert not resumed["paused"] and resumed["changed"]
    assert api.client.post(f"/api/runs/{run_id}/resume").json()["changed"] is False


def test_cancelling_a_run_tells_its_workers_to_stop(api: Api, moved: World) -> None:
    run_id = ask(api)
    moved.think(admit_work_messages(moved)[run_id])
    cancelled = api.client.post(f"/api/runs/{run_id}/cancel").json()
    assert (cancelled["status"], cancelled["changed"]) == ("cancelled", True)
    assert api.sender.aborted == [run_id]
    assert api.client.post(f"/api/runs/{run_id}/cancel").json()["changed"] is False
    assert api.client.post(f"/api/runs/{run_id}/retry").json()["status"] == "queued"


def test_runs_are_filtered_by_batch_state_error_and_custom_id(api: Api, moved: World) -> None:
    ids = [ask(api, f"q{n}", custom_id=f"c{n}") for n in range(3)]
    work_messages = admit_work_messages(moved)
    answer(moved, work_messages[ids[0]], "x")
    fail(moved, work_messages[ids[1]])

    def found(query: str) -> list[str]:
        return [item["run_id"] for item in api.client.get(f"/api/runs?{query}").json()["items"]]

    assert found("") == sorted(ids, reverse=True)
    assert found("state=succeeded") == [ids[0]]
    assert found("error=model_rejected") == [ids[1]]
    assert found("custom_id=c2") == [ids[2]]
    batch_id = api.client.get(f"/api/runs/{ids[2]}").json()["batch_id"]
    assert found(f"batch={batch_id}") == [ids[2]]


def test_runs_of_a_batch_come_in_order_page_by_page(api: Api) -> None:
    data = b"".join(b"q%d\n" % n for n in range(7))
    batch_id = api.client.post("/api/batches", content=data, headers={"content-type": "text/plain"}).json()["batch_id"]
    seen, cursor = [], ""
    while True:
        page = api.client.get(f"/api/runs?batch={batch_id}&limit=3{cursor}").json()
        seen += [item["question"] for item in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert seen == [f"q{n}" for n in range(7)]
    assert api.client.get(f"/api/runs?batch={batch_id}&cursor=x").status_code == 422
