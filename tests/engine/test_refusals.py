"""A model that refuses calls: the operator's errors, refusals with a time, and limits that the whole fleet keeps."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select, update

from tests.engine.fleet import Fleet, slowness
from tests.engine.questions import sums
from tests.engine.wholeness import assert_money, assert_whole
from worker.store.schema.tables import active, endpoints
from worker.store.session import NOW

pytestmark = pytest.mark.timeout(300)


def test_a_wrong_key_pauses_the_endpoint_fails_nobody_and_a_probe_opens_it_again(fleet: Fleet) -> None:
    fleet.practice.control(faults=["bad_key"])
    fleet.start(slots=8)
    batch = fleet.submit(sums(30))
    paused = select(endpoints).where(endpoints.c.paused_reason.is_not(None))
    fleet.wait("the endpoint is paused", lambda: fleet.rows(paused))
    parked = select(func.count()).where(active.c.parked.is_(None)).select_from(active)
    fleet.wait("every run has given up its slot", lambda: fleet.rows(parked)[0][0] == 0)
    asked = fleet.practice.stats()["requests"]
    assert asked <= 30, "the endpoint is not asked again and again"
    (endpoint,) = fleet.rows(paused)
    assert "key" in endpoint.paused_reason.lower() and endpoint.paused_until is None
    assert fleet.ended(batch) == 0

    _probe_now(fleet)
    fleet.wait("one run probes in vain", lambda: fleet.practice.stats()["requests"] == asked + 1)
    fleet.practice.control(faults=[])
    _probe_now(fleet)
    assert fleet.finish(batch) == {"succeeded": 30}
    assert fleet.rows(paused) == []
    assert_whole(fleet, batch)


def _probe_now(fleet: Fleet) -> None:
    """The next probe is due in minutes; the test does not wait for it."""
    waiting = select(endpoints.c.id).where(endpoints.c.probe_run.is_(None))
    fleet.wait("no probe is under way", lambda: fleet.rows(waiting))
    with fleet.store.write() as tx:
        tx.execute(update(endpoints).values(probe_at=NOW))


def test_a_429_with_a_time_pauses_the_endpoint_for_three_workers_at_once(fleet: Fleet) -> None:
    for _ in range(3):
        fleet.start(slots=4)
    fleet.practice.control(latency="0.05", script=["ok"] * 5 + [{"kind": "rate_limit", "retry_after": "3"}])
    batch = fleet.submit(sums(40))
    assert fleet.finish(batch) == {"succeeded": 40}
    served = fleet.practice.ledger()
    refused = next(entry for entry in served if entry["status"] == 429)
    told_at = refused["finished_mono_s"]
    freshness_s = 1.5 * slowness()  # a worker looks for pauses once a second
    quiet = [e for e in served if told_at + freshness_s < e["started_mono_s"] < told_at + 2.9]
    assert quiet == [], "nobody calls while the endpoint asked to be left alone"
    assert len([e for e in served if e["started_mono_s"] >= told_at + 2.9]) >= 5
    assert all(run.attempts >= 3 for run in fleet.runs(batch))
    assert_money(fleet)


def test_three_workers_together_keep_to_the_requests_a_minute_and_other_models_go_on(fleet: Fleet) -> None:
    for _ in range(3):
        fleet.start(slots=4)
    fleet.practice.control(limits={"rpm": 30})
    limited = fleet.submit(sums(60), limits={"requests_per_min": 30})
    fleet.wait("the limit is reached", lambda: fleet.practice.stats()["requests"] >= 10)
    fleet.practice.control(model_limits={"practice-small": {}})
    free = fleet.submit(sums(20), model="practice-small")
    assert fleet.finish(free, 30) == {"succeeded": 20}, "another model is not held up"
    gate = fleet.practice.stats()["models"]["practice"]
    assert gate["refused"] == 0 and gate["arrived_most_in_window"] <= 30
    assert fleet.states(limited).get("failed", 0) == 0
