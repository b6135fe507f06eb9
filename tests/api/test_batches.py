"""A batch can be read, paused, cancelled and retried; its counts are right at all times."""

from __future__ import annotations

from typing import Any

from tests.api.conftest import Api
from tests.api.words import act, admit_work_messages, answer, fail, observe
from tests.store.conftest import World
from worker.core.errors import ErrorCode
from worker.store.control.stopping import note_stopped


def submit(api: Api, count: int, **options: object) -> str:
    body = {"runs": [{"question": f"What is {n}+1?", "custom_id": f"c{n}"} for n in range(count)], **options}
    return str(api.client.post("/api/batches", json=body).json()["batch_id"])


def batch(api: Api, batch_id: str) -> dict[str, Any]:
    found: dict[str, Any] = api.client.get(f"/api/batches/{batch_id}").json()
    return found


def run_ids(api: Api, batch_id: str) -> list[str]:
    return [item["run_id"] for item in api.client.get(f"/api/runs?batch={batch_id}").json()["items"]]


def test_counts_are_right_before_and_after_endings_are_settled(api: Api, moved: World) -> None:
    batch_id = submit(api, 4)
    assert batch(api, batch_id)["counts"] == {"queued": 4, "active": 0, "succeeded": 0, "failed": 0, "cancelled": 0}
    work_messages = admit_work_messages(moved)
    first, second, third, _ = run_ids(api, batch_id)
    answer(moved, work_messages[first], "1")
    fail(moved, work_messages[second])
    act(moved, work_messages[third])
    expected = {"queued": 0, "active": 2, "succeeded": 1, "failed": 1, "cancelled": 0}
    for _ in range(2):
        found = batch(api, batch_id)
        assert found["counts"] == expected and found["percent"] == 50.0
        assert found["usage"] == {"prompt_tokens": 200, "cached_tokens": 20, "completion_tokens": 40}
        assert found["errors"] == {"model_rejected": 1}
        moved.admit()  # settles; the second look must say the same


def test_why_a_batch_waits_is_said_with_numbers(api: Api, moved: World) -> None:
    batch_id = submit(api, 3)
    assert batch(api, batch_id)["waiting"] == [
        {"reason": "They are queued; they are admitted when slots come free.", "runs": 3}
    ]
    work_messages = admit_work_messages(moved)
    first, second, third = run_ids(api, batch_id)
    act(moved, work_messages[first])
    reasons = {entry["reason"]: entry["runs"] for entry in batch(api, batch_id)["waiting"]}
    assert reasons == {
        "Their model call waits in think for a free worker.": 2,
        "Their tool call waits in tools.local for a free worker.": 1,
    }
    moved.think(work_messages[second])
    run = api.client.get(f"/api/runs/{second}").json()
    assert run["waiting"] is None, "a model call under a lease does not wait"
    assert "waits in think for a free worker" in api.client.get(f"/api/runs/{third}").json()["waiting"]


def test_pause_and_resume_are_seen_at_once(api: Api, moved: World) -> None:
    batch_id = submit(api, 2)
    paused = api.client.post(f"/api/batches/{batch_id}/pause").json()
    assert (paused["changed"], paused["paused_reason"]) == (True, "hand")
    assert "resume" in paused["waiting"][0]["reason"]
    assert api.client.post(f"/api/batches/{batch_id}/pause").json()["changed"] is False
    assert admit_work_messages(moved) == {}
    assert [b["batch_id"] for b in api.client.get("/api/batches?paused=true").json()["items"]] == [batch_id]
    assert api.client.post(f"/api/batches/{batch_id}/resume").json()["paused_reason"] is None
    assert len(admit_work_messages(moved)) == 2


def test_cancel_ends_what_moves_and_what_waits(api: Api, moved: World) -> None:
    batch_id = submit(api, 1_500)
    work_messages = moved.admit(hot_set=3, reserve=0).work_messages
    wakes = api.admitter.wakes
    cancelled = api.client.post(f"/api/batches/{batch_id}/cancel").json()
    assert (cancelled["state"], cancelled["changed"]) == ("cancelled", True)
    assert sorted(api.sender.aborted) == sorted(work_message.run_id for work_message in work_messages)
    assert api.admitter.wakes > wakes
    moved.admit()
    assert batch(api, batch_id)["counts"]["cancelled"] == 1_500
    assert batch(api, batch_id)["finished_at"] is not None
    assert api.client.post(f"/api/batches/{batch_id}/cancel").json()["changed"] is False


def test_retry_queues_failed_runs_by_code_and_counts_each_cost_once(api: Api, moved: World) -> None:
    batch_id = submit(api, 3)
    work_messages = admit_work_messages(moved)
    first, second, third = run_ids(api, batch_id)
    answer(moved, work_messages[first], "1")
    fail(moved, work_messages[second])
    follow = observe(moved, act(moved, work_messages[third])[0])
    fail(moved, follow[0], ErrorCode.CONTENT_FILTER)
    moved.admit()
    before = batch(api, batch_id)
    assert (before["state"], before["counts"]["failed"]) == ("done", 2)

    assert api.client.post(f"/api/batches/{batch_id}/retry?codes=budget").json()["retried"] == 0
    retried = api.client.post(f"/api/batches/{batch_id}/retry?codes=content_filter").json()
    assert (retried["retried"], retried["state"]) == (1, "open")
    assert retried["counts"] == {"queued": 1, "active": 0, "succeeded": 1, "failed": 1, "cancelled": 0}
    assert retried["usage"] == before["usage"], "what was paid stays in sight"

    (work_message,) = moved.admit().work_messages
    assert (work_message.run_id, work_message.step) == (third, 2), "it goes on after its last whole step"
    answer(moved, work_message, "3")
    moved.admit()
    after = batch(api, batch_id)
    assert (after["state"], after["counts"]["succeeded"], after["counts"]["failed"]) == ("done", 2, 1)
    assert after["usage"]["prompt_tokens"] == before["usage"]["prompt_tokens"] + 100
    assert after["steps"] == before["steps"] + 1


def test_a_cancelled_run_goes_on_with_its_open_calls_told_and_not_repeated(api: Api, moved: World) -> None:
    batch_id = submit(api, 1)
    (run_id,) = run_ids(api, batch_id)
    act(moved, admit_work_messages(moved)[run_id], calls=2)
    assert api.client.post(f"/api/runs/{run_id}/cancel").json()["status"] == "cancelled"
    note_stopped(moved.store, run_id)
    moved.admit()
    retried = api.client.post(f"/api/runs/{run_id}/retry").json()
    assert (retried["status"], retried["changed"]) == ("queued", True)
    assert [call["state"] for call in retried["trace"][0]["calls"]] == ["done", "done"]
    assert "gave no result" in retried["trace"][0]["calls"][0]["observation"]
    (work_message,) = moved.admit().work_messages
    assert (work_message.step, work_message.call) == (2, 0)
    answer(moved, work_message, "done")
    assert api.client.post(f"/api/runs/{run_id}/retry").status_code == 409


def test_a_run_that_failed_in_its_conversation_begins_anew_and_the_old_steps_count_as_waste(
    api: Api, moved: World
) -> None:
    batch_id = submit(api, 1)
    (run_id,) = run_ids(api, batch_id)
    follow = observe(moved, act(moved, admit_work_messages(moved)[run_id])[0])
    fail(moved, follow[0], ErrorCode.CONTEXT_OVERFLOW)
    api.client.post(f"/api/batches/{batch_id}/retry")
    run = api.client.get(f"/api/runs/{run_id}").json()
    assert (run["status"], run["steps"], run["trace"]) == ("queued", 0, [])
    assert run["wasted"]["tokens"] == 120
    (work_message,) = moved.admit().work_messages
    assert work_message.step == 1


def test_lists_go_on_page_by_page_newest_first(api: Api) -> None:
    ids = [submit(api, 1, name="night" if n % 2 else "day") for n in range(5)]
    seen, cursor = [], ""
    while True:
        page = api.client.get(f"/api/batches?limit=2{cursor}").json()
        seen += [item["batch_id"] for item in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert seen == sorted(ids, reverse=True)
    assert len(api.client.get("/api/batches?name=night").json()["items"]) == 2
    assert api.client.get("/api/batches?state=done").json()["items"] == []


def test_unknown_ids_and_filters_get_a_sentence(api: Api) -> None:
    for path, status in [("/api/batches/batch_x", 404), ("/api/runs/run_x", 404), ("/api/runs/run_x/events", 404),
                         ("/api/batches/batch_x/results", 404), ("/api/nothing", 404), ("/api/runs?state=odd", 422),
                         ("/api/batches?limit=0", 422)]:  # fmt: skip
        answered = api.client.get(path)
        assert answered.status_code == status, path
        assert set(answered.json()["error"]) == {"code", "message", "hint"}
    assert api.client.delete("/api/batches").status_code == 405
    wrong = api.client.post(f"/api/batches/{submit(api, 1)}/retry?codes=tired").json()["error"]
    assert "tired" in wrong["message"] and "max_steps" in wrong["hint"]


def test_a_scored_batch_tells_exact_match_and_f1(api: Api, moved: World) -> None:
    body = {
        "runs": [
            {"question": "Capital of France?", "expected": "Paris"},
            {"question": "Who?", "expected": "Ada Lovelace"},
            {"question": "No expectation"},
        ]
    }
    batch_id = api.client.post("/api/batches", json=body).json()["batch_id"]
    assert batch(api, batch_id)["scores"] is None
    work_messages = admit_work_messages(moved)
    first, second, third = run_ids(api, batch_id)
    answer(moved, work_messages[first], "The Paris.")
    answer(moved, work_messages[second], "Lovelace")
    answer(moved, work_messages[third], "x")
    assert batch(api, batch_id)["scores"] == {"scored": 2, "exact_match": 0.5, "f1": 0.8333}
