"""Daily usage, and the invariants."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from tests.api.conftest import Api
from tests.store.conftest import World
from worker.core.records import Usage
from worker.core.spending import Spent
from worker.store.admission.retry import retry_batch
from worker.store.hot.late_usage import note_waste
from worker.store.hot.writes import reserve
from worker.store.recovery.takeover import OpenAttempt, release
from worker.store.schema.tables import active, attempts, runs, workers


def today(api: Api) -> dict[str, object]:
    (day,) = api.client.get("/api/usage?days=1").json()["items"]
    return dict(day)


def test_each_day_tells_calls_tokens_cost_and_what_was_wasted(api: Api, moved: World) -> None:
    _, work_message = moved.start()
    lost = moved.think(work_message).lease
    reserve(moved.store, lost, 0.7)
    (again,) = release(moved.store, OpenAttempt(lost), {}, "its worker died").work_messages  # type: ignore[union-attr]
    (tool,) = moved.act(again)
    moved.observe(moved.call(tool).lease)
    with moved.store.write() as tx:
        tx.execute(update(attempts).where(attempts.c.token == lost.token).values(ended_at=attempts.c.claimed_at + 4.5))
    day = today(api)
    assert day["day"] == datetime.fromtimestamp(moved.store.now(), UTC).date().isoformat()
    assert (day["model_calls"], day["tool_calls"], day["cost_usd"], day["reserved_usd"]) == (2, 1, 0.5, 0.7)
    assert day["usage"] == {"prompt_tokens": 100, "cached_tokens": 10, "completion_tokens": 20}
    assert day["wasted"] == {"attempts": 1, "seconds": 4.5, "tokens": 0, "cost_usd": 0.0, "reserved_usd": 0.7}
    told = Spent("fenced", usage=Usage(7, 0, 3), cost_usd=0.2, wasted=True, billed=True)
    note_waste(moved.store, lost, told)
    day = today(api)
    assert (day["cost_usd"], day["reserved_usd"], day["unpriced_calls"]) == (0.7, 0.0, 0)
    assert day["wasted"] == {"attempts": 1, "seconds": 4.5, "tokens": 10, "cost_usd": 0.2, "reserved_usd": 0.0}


def test_attempts_belong_to_the_day_of_their_claim_and_old_days_are_left_out(api: Api, moved: World) -> None:
    for days_ago in (0, 1, 3):
        _, work_message = moved.start()
        work = moved.think(work_message)
        with moved.store.write() as tx:
            shifted = update(attempts).where(attempts.c.token == work.lease.token)
            tx.execute(shifted.values(claimed_at=attempts.c.claimed_at - 86_400.0 * days_ago))
    now = datetime.fromtimestamp(moved.store.now(), UTC).date()
    for days, expected in ((1, [0]), (2, [0, 1]), (4, [0, 1, 3])):
        shown = [item["day"] for item in api.client.get(f"/api/usage?days={days}").json()["items"]]
        assert shown == [(now - timedelta(days=ago)).isoformat() for ago in expected]


def test_a_cost_that_nobody_knows_is_null(api: Api, moved: World) -> None:
    _, work_message = moved.start()
    release(moved.store, OpenAttempt(moved.think(work_message).lease), {}, "its worker died")
    day = today(api)
    assert (day["cost_usd"], day["unpriced_calls"]) == (None, 1)


@pytest.mark.parametrize("days", ["0", "367", "many"])
def test_a_span_that_makes_no_sense_is_refused(api: Api, days: str) -> None:
    assert api.client.get(f"/api/usage?days={days}").status_code == 422


def test_a_run_that_begins_anew_wasted_all_it_had_done_in_every_book(api: Api, moved: World) -> None:
    batch_id, (run_id,) = moved.submit(1)
    (work_message,) = moved.admit().work_messages
    moved.answer(work_message)
    moved.admit()
    with moved.store.write() as tx:
        tx.execute(update(runs).values(state="failed", error_code="max_steps"))
    assert retry_batch(moved.store, batch_id) == 1
    run = api.client.get(f"/api/runs/{run_id}").json()
    assert (run["wasted"]["attempts"], run["wasted"]["tokens"], run["wasted"]["cost_usd"]) == (1, 120, 0.5)
    wasted = today(api)["wasted"]
    assert isinstance(wasted, dict) and (wasted["attempts"], wasted["tokens"]) == (1, 120)


def test_invariants_tell_what_is_wrong_now_and_what_workers_have_counted(api: Api, moved: World) -> None:
    run_id, _ = moved.start()
    assert api.client.get("/api/invariants").json()["items"] == []
    with moved.store.write() as tx:
        tx.execute(update(active).values(pending=3))
        tx.execute(update(workers).values(violations=2))
    told = api.client.get("/api/invariants").json()
    assert told["counted"] == 2 and len(told["checks"]) > 5
    assert [(one["name"], one["subject"]) for one in told["items"]] == [("pending_differs", run_id)]
    assert api.client.get("/api/workers").json()["items"][0]["violations"] == 2
