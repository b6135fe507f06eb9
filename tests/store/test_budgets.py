"""Budgets on a real database: handed out at admission, kept through crash, cancel, retry and late reports."""

from __future__ import annotations

import random

import pytest
from sqlalchemy import func, select

from tests.store.conftest import RECORD, World
from worker.core.config import RunConfig
from worker.core.machine import decide_think
from worker.core.moves import Answered, GivenBack, OverBudget
from worker.core.records import Usage
from worker.core.spending import Spent
from worker.core.states import Outcome
from worker.core.work_messages import WorkMessage
from worker.store.admission.retry import retry_batch
from worker.store.admission.submit import NewBatch, NewRun, add_runs, open_batch, seal
from worker.store.configurations import put_configuration
from worker.store.control.stopping import cancel_run, resume_batch
from worker.store.hot.interface import Lease
from worker.store.hot.late_usage import note_waste
from worker.store.hot.writes import apply_think, claim_think, reserve
from worker.store.recovery.invariants import check
from worker.store.recovery.takeover import OpenAttempt, release
from worker.store.schema.tables import active, endings, runs

LOST = Spent(Outcome.FENCED, wasted=True, billed=True)


def submit(world: World, count: int, budget: float, call: float = 1.0) -> str:
    config = put_configuration(world.store, RunConfig(name="assistant"))
    batch_id, _ = open_batch(world.store, NewBatch(budget_usd=budget))
    add_runs(world.store, batch_id, "local", 1, [NewRun("What is 1 + 1?", config)] * count)
    seal(world.store, batch_id, first_call_usd=call)
    return batch_id


def answer(world: World, work_message: WorkMessage, cost: float) -> None:
    work = world.think(work_message)
    assert reserve(world.store, work.lease, 1.0)
    spent = Spent(Outcome.OK, usage=Usage(10, 0, 5), cost_usd=cost, billed=True)
    decision = decide_think(work.hot, Answered("Two."), RunConfig())
    assert apply_think(world.store, work.lease, decision, spent, RECORD) is not None


def run_out(world: World, work_message: WorkMessage) -> None:
    work = world.think(work_message)
    decision = decide_think(work.hot, OverBudget(1.0), RunConfig())
    assert apply_think(world.store, work.lease, decision, Spent(Outcome.DEFERRED)) is not None


def committed(world: World, batch_id: str) -> float:
    """Everything that may have been or may still be spent: allotments of active runs, and what others used."""
    with world.store.read() as tx:
        allotted = tx.execute(select(func.sum(active.c.allotment_usd)).where(active.c.batch_id == batch_id)).scalar()
        others = select(func.sum(runs.c.cost_usd + runs.c.reserved_usd)).where(runs.c.batch_id == batch_id)
        return float(allotted or 0.0) + float(tx.execute(others.where(runs.c.state != "active")).scalar() or 0.0)


def test_runs_are_admitted_while_the_money_is_enough_for_one_call_more(world: World) -> None:
    batch_id = submit(world, 10, budget=3.5)
    work_messages = world.admit().work_messages
    assert [world.hot(work_message.run_id).allotment_usd for work_message in work_messages] == [1.0, 1.0, 1.0]
    assert committed(world, batch_id) <= 3.5
    assert world.admit().work_messages == () and world.batch(batch_id).paused_reason is None, "three are in motion"
    answer(world, work_messages[0], cost=0.6)
    assert world.admit().work_messages == (), "what it did not use is not enough for another"


def test_a_batch_whose_money_is_out_pauses_and_goes_on_when_it_is_given_more(world: World) -> None:
    batch_id = submit(world, 4, budget=1.5)
    (work_message,) = world.admit().work_messages
    answer(world, work_message, cost=0.9)
    assert world.admit().work_messages == ()
    assert (world.batch(batch_id).paused_reason, world.batch(batch_id).paused_by) == ("budget", "stepmill")
    resume_batch(world.store, batch_id)
    assert world.admit().work_messages == () and world.batch(batch_id).paused_reason == "budget", "nothing has changed"
    assert resume_batch(world.store, batch_id, budget_usd=100.0)
    assert len(world.admit().work_messages) == 3


def test_another_batch_takes_the_slots_that_a_poor_one_cannot_pay_for(world: World) -> None:
    poor, (rich, _) = submit(world, 50, budget=2.0), world.submit(50)
    work_messages = world.admit(hot_set=20).work_messages
    owners = [world.run(work_message.run_id).batch_id for work_message in work_messages]
    assert len(owners) == 20 and owners.count(poor) <= 2 and owners.count(rich) >= 18


def test_a_run_ends_with_budget_and_keeps_its_last_words(world: World) -> None:
    submit(world, 1, budget=5.0)
    (work_message,) = world.admit().work_messages
    (tool,) = world.act(work_message)
    world.observe(world.call(tool).lease)
    run_out(world, WorkMessage(work_message.run_id, 2, 0, 1, "think"))
    run = world.run(work_message.run_id)
    assert (run.state, run.error_code, run.partial_answer, run.steps) == ("failed", "budget", "I add.", 1)
    assert (run.cost_usd, run.reserved_usd, run.unpriced) == (0.5, 0.0, 0)


def test_the_call_of_a_lost_worker_keeps_its_bound_until_its_usage_is_told(world: World) -> None:
    batch_id = submit(world, 1, budget=9.0)
    (work_message,) = world.admit().work_messages
    lease = world.think(work_message).lease
    assert reserve(world.store, lease, 0.7)
    (again,) = release(world.store, OpenAttempt(lease), {}, "its worker died").work_messages  # type: ignore[union-attr]
    hot = world.hot(work_message.run_id)
    assert (hot.reserved_usd, hot.cost_usd, hot.unpriced, hot.wasted_attempts) == (0.7, 0.0, 0, 1)
    assert world.attempt(lease).reserved_usd == 0.7
    answer(world, again, cost=0.2)
    world.admit()
    assert (world.batch(batch_id).reserved_usd, world.batch(batch_id).cost_usd) == pytest.approx((0.7, 0.2))
    known = Spent(Outcome.FENCED, usage=Usage(100, 0, 9), cost_usd=0.3, wasted=True, billed=True)
    note_waste(world.store, lease, known)
    note_waste(world.store, lease, known)
    for row in (world.run(work_message.run_id), world.batch(batch_id)):
        assert (row.reserved_usd, row.cost_usd, row.wasted_cost_usd) == pytest.approx((0.0, 0.5, 0.3))
        assert (row.wasted_attempts, row.wasted_tokens) == (1, 109)
    assert world.attempt(lease).reserved_usd is None


def test_a_worker_that_dies_before_its_call_reserves_nothing(world: World) -> None:
    submit(world, 1, budget=9.0)
    (work_message,) = world.admit().work_messages
    release(world.store, OpenAttempt(world.think(work_message).lease), {}, "its worker died")
    hot = world.hot(work_message.run_id)
    assert (hot.reserved_usd, hot.unpriced, hot.wasted_attempts) == (0.0, 0, 1)


def test_a_call_is_not_made_by_an_attempt_that_was_taken_over(world: World) -> None:
    submit(world, 1, budget=9.0)
    (work_message,) = world.admit().work_messages
    lease = world.think(work_message).lease
    release(world.store, OpenAttempt(lease), {}, "its worker died")
    assert not reserve(world.store, lease, 0.7)
    assert world.attempt(lease).reserved_usd is None


@pytest.mark.parametrize("settled_first", [True, False])
def test_a_cancelled_call_keeps_its_bound_until_its_worker_reports(world: World, settled_first: bool) -> None:
    batch_id = submit(world, 1, budget=9.0)
    (work_message,) = world.admit().work_messages
    lease = world.think(work_message).lease
    reserve(world.store, lease, 0.7)
    cancel_run(world.store, work_message.run_id)
    assert world.run(work_message.run_id).reserved_usd == 0.7
    if settled_first:
        world.admit()
    note_waste(world.store, lease, LOST)
    assert world.run(work_message.run_id).reserved_usd == 0.7, "it was aborted, and nobody knows what it cost"
    world.admit()
    batch = world.batch(batch_id)
    assert (batch.reserved_usd, batch.wasted_attempts, batch.unpriced) == (0.7, 1, 0)
    assert batch.wasted_s >= 0 and check(world.store) == []


def test_what_a_run_used_counts_while_it_waits_to_be_tried_again_and_when_it_is(world: World) -> None:
    batch_id = submit(world, 2, budget=4.0)
    work_messages = world.admit().work_messages
    for work_message in work_messages:
        work = world.think(work_message)
        spent = Spent(Outcome.OK, usage=Usage(10, 0, 5), cost_usd=1.5, billed=True)
        ended = decide_think(work.hot, OverBudget(1.0), RunConfig())
        apply_think(world.store, work.lease, ended, spent)
    assert retry_batch(world.store, batch_id) == 2
    assert (world.batch(batch_id).carried_usd, world.batch(batch_id).cost_usd) == (3.0, 0.0)
    (work_message,) = world.admit().work_messages
    assert world.hot(work_message.run_id).allotment_usd == pytest.approx(2.5), (
        "what it used, and the dollar that is left"
    )
    assert world.batch(batch_id).carried_usd == 1.5
    (waiting,) = {work_message.run_id for work_message in work_messages} - {work_message.run_id}
    cancel_run(world.store, waiting)
    world.admit()
    assert (world.batch(batch_id).carried_usd, world.batch(batch_id).cost_usd) == (0.0, 1.5)


@pytest.mark.parametrize("seed", range(3))
def test_no_order_of_events_spends_more_than_the_budget(world: World, seed: int) -> None:
    dice, budget = random.Random(seed), 30.0
    batch_id = submit(world, 12, budget)
    late: list[tuple[Lease, float]] = []
    for _ in range(120):
        world.admit(hot_set=4)
        with world.store.read() as tx:
            rows = tx.execute(select(active).where(active.c.token.is_(None))).all()
        work_messages = [WorkMessage(row.run_id, row.step, 0, row.attempt, "think") for row in rows]
        if work_messages:
            _one_call(world, dice, dice.choice(work_messages), late)
        if late and dice.random() < 0.3:
            lease, bound = late.pop()
            cost = dice.uniform(0, bound)
            note_waste(world.store, lease, Spent("fenced", usage=Usage(1, 0, 1), cost_usd=cost, billed=True))
        if dice.random() < 0.1:
            retry_batch(world.store, batch_id, ("budget", "cancelled"))
            resume_batch(world.store, batch_id)
        assert committed(world, batch_id) <= budget + 1e-6
        assert check(world.store) == []


def _one_call(world: World, dice: random.Random, work_message: WorkMessage, late: list[tuple[Lease, float]]) -> None:
    lease = world.lease(work_message)
    work = claim_think(world.store, lease)
    assert work is not None
    bound, fate = dice.uniform(0.1, 1.0), dice.random()
    used, allotted = work.hot.cost_usd + work.hot.reserved_usd, work.hot.allotment_usd
    assert allotted is not None
    if used + bound > allotted:
        decision = decide_think(work.hot, OverBudget(bound), RunConfig())
        apply_think(world.store, lease, decision, Spent(Outcome.DEFERRED))
        return
    assert reserve(world.store, lease, bound)
    if fate < 0.3:
        release(world.store, OpenAttempt(lease), {}, "its worker died")
        late.append((lease, bound))
    elif fate < 0.4:
        cancel_run(world.store, work_message.run_id)
        late.append((lease, bound))
    else:
        known = Spent("ok", usage=Usage(1, 0, 1), cost_usd=dice.uniform(0, bound), billed=True)
        spent = known if fate < 0.9 else Spent("ok", billed=True)
        event = Answered("Two.") if dice.random() < 0.3 else GivenBack(Outcome.HANDED_BACK)
        apply_think(world.store, lease, decide_think(work.hot, event, RunConfig()), spent)


def test_an_ending_that_is_not_settled_yet_is_not_spent_twice(world: World) -> None:
    batch_id = submit(world, 4, budget=2.0)
    work_messages = world.admit().work_messages
    answer(world, work_messages[0], cost=1.0)
    with world.store.read() as tx:
        assert tx.execute(select(func.count()).select_from(endings)).scalar() == 1
    world.admit()
    assert committed(world, batch_id) <= 2.0
