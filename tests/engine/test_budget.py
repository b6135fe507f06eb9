"""A budget on real workers: whatever is killed, the model never serves more than the batch may cost."""

from __future__ import annotations

import pytest

from tests.engine.fleet import Fleet
from tests.engine.prices import USD_A_TOKEN, assert_billed, price, served_usd
from tests.engine.questions import long_ones
from tests.engine.wholeness import assert_money
from worker.store.admission.submit import NewBatch, NewRun, add_runs, open_batch, seal
from worker.store.control.stopping import cancel_run
from worker.store.recovery.invariants import check
from worker.store.schema.tables import batches

pytestmark = pytest.mark.timeout(300)


def submit(fleet: Fleet, count: int, budget_usd: float) -> str:
    config = fleet.configuration(max_output_tokens=400)
    batch_id, _ = open_batch(fleet.store, NewBatch(budget_usd=budget_usd))
    add_runs(fleet.store, batch_id, "local", 1, [NewRun(question, config) for question in long_ones(count, 4)])
    seal(fleet.store, batch_id, first_call_usd=0.4)
    return batch_id


@pytest.fixture
def priced(fleet: Fleet) -> Fleet:
    """Workers that know what the practice model costs."""
    price(fleet)
    return fleet


def test_a_batch_pauses_before_its_budget_is_passed_though_a_worker_is_killed(priced: Fleet) -> None:
    fleet, budget_usd = priced, 8.0
    fleet.practice.control(latency="0.1")
    doomed = fleet.start(slots=4)
    fleet.start(slots=4)
    batch_id = submit(fleet, 60, budget_usd)
    fleet.wait_for_ended(batch_id, 2)
    fleet.wait("model calls are in flight", lambda: fleet.in_flight(call=False))
    doomed.kill()

    def paused() -> bool:
        (row,) = fleet.rows(batches.select().where(batches.c.id == batch_id))
        fleet.last_seen = (row.paused_reason, row.cost_usd, row.reserved_usd, row.succeeded, row.failed)
        assert row.finished_at is None, "it ended instead"
        return bool(row.paused_reason == "budget")

    fleet.wait("the batch is paused for its budget", paused, 60)
    (row,) = fleet.rows(batches.select().where(batches.c.id == batch_id))
    assert_billed(fleet, batch_id)
    assert row.cost_usd + row.reserved_usd <= budget_usd + 1e-6
    assert row.succeeded >= 2 and row.unpriced == 0
    assert {run.error_code for run in fleet.runs(batch_id)} <= {None, "budget"}
    assert check(fleet.store) == []
    assert_money(fleet)


def test_a_run_whose_share_is_too_small_ends_with_budget_and_its_last_words(priced: Fleet) -> None:
    fleet = priced
    fleet.start(slots=4)
    batch_id = submit(fleet, 1, budget_usd=0.5)
    assert fleet.finish(batch_id) == {"failed": 1}
    (run,) = fleet.runs(batch_id)
    assert run.error_code == "budget" and "allotted" in run.error_message
    assert served_usd(fleet) <= 0.5 and run.cost_usd == pytest.approx(served_usd(fleet))


def test_a_cancelled_call_keeps_its_bound_apart_from_the_cost(priced: Fleet) -> None:
    fleet = priced
    fleet.practice.control(latency="30")
    fleet.start(slots=4)
    batch_id = submit(fleet, 1, budget_usd=50.0)
    fleet.wait("the call is at the model", lambda: fleet.practice.stats()["in_flight"] == 1)
    (run,) = fleet.runs(batch_id)
    cancel_run(fleet.store, run.id)
    assert fleet.finish(batch_id) == {"cancelled": 1}
    (run,) = fleet.runs(batch_id)
    assert run.reserved_usd > 400 * USD_A_TOKEN and run.cost_usd == 0.0
