"""Rows that arithmetic cannot use are repaired or set aside and reported; the others are admitted and settled."""

from __future__ import annotations

import logging
import math

import pytest
from sqlalchemy import Table, select, text, update

from tests.store.conftest import World
from worker.core.fairness import MAX_WEIGHT, MIN_WEIGHT
from worker.store.admission import settling
from worker.store.admission.retry import retry_batch
from worker.store.admission.submit import NewBatch
from worker.store.control.stopping import resume_batch
from worker.store.queries.admission import STALE_S, admission_health
from worker.store.recovery.invariants import check
from worker.store.schema.tables import admission, batches, endings, owners, runs
from worker.store.session import CLOCK

INF = math.inf


def spoil(world: World, table: Table, batch_id: str | None = None, **values: object) -> None:
    statement = update(table)
    if batch_id is not None:
        statement = statement.where(table.c.id == batch_id)
    with world.store.write() as tx:
        tx.execute(statement.values(**values))


@pytest.mark.parametrize("weight", [1e-310, 1e-300, 0.0, -1.0, INF, 1e308])
def test_a_weight_that_an_older_version_took_stops_nobody(world: World, weight: float) -> None:
    bad, bad_ids = world.submit(4)
    good, good_ids = world.submit(4)
    spoil(world, batches, bad, weight=weight)
    for _ in range(8):
        for work_message in world.admit(hot_set=1, reserve=0).work_messages:
            world.answer(work_message)
    world.admit()
    assert world.batch(good).state == "done" and world.batch(bad).state == "done"
    assert {world.run(run_id).state for run_id in bad_ids + good_ids} == {"succeeded"}
    assert check(world.store) == []


@pytest.mark.parametrize("at", [INF, -INF, 1e300])
def test_virtual_times_that_are_no_numbers_return_to_the_present(world: World, at: float) -> None:
    first, _ = world.submit(20)
    world.admit(hot_set=2, reserve=0)
    spoil(world, batches, first, vtime=at, steps_per_run=at)
    spoil(world, owners, vtime=at, clock=at)
    spoil(world, admission, clock=at)
    second, _ = world.submit(20)
    work_messages = world.admit(hot_set=22, reserve=0).work_messages
    shares = [
        sum(world.run(work_message.run_id).batch_id == batch for work_message in work_messages)
        for batch in (first, second)
    ]
    assert sum(shares) == 20 and min(shares) >= 8, "fair again"
    with world.store.read() as tx:
        moments = [
            *tx.execute(select(owners.c.vtime, owners.c.clock)).one(),
            tx.execute(select(admission.c.clock)).scalar(),
        ]
    assert all(abs(moment) < 1e6 for moment in (*moments, world.batch(first).vtime))


@pytest.mark.usefixtures("stepped_clock")
@pytest.mark.parametrize("values", [{"charged": INF}, {"cost_usd": INF}, {"steps": -(2**62)}, {"attempts": 2**62}])
def test_an_ending_that_cannot_be_settled_is_set_aside_and_named_and_the_others_are_settled(
    world: World, values: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    bad, (bad_run,) = world.submit(1)
    good, _ = world.submit(30)
    for work_message in world.admit().work_messages:
        world.answer(work_message)
    with world.store.write() as tx:
        tx.execute(update(endings).where(endings.c.run_id == bad_run).values(**values))
    with caplog.at_level(logging.ERROR):
        assert world.admit().settled == 30
    assert bad_run in caplog.text and next(iter(values)) in caplog.text
    assert world.batch(good).state == "done" and world.batch(bad).state == "open"
    (named,) = [one for one in check(world.store) if one.name == "ending_set_aside"]
    assert named.subject == bad_run and next(iter(values)) in named.seen["aside_reason"]
    assert world.admit().settled == 0 and admission_health(world.store).set_aside == 1
    assert retry_batch(world.store, bad) == 0, "what is not settled cannot be taken back"
    with world.store.write() as tx:
        tx.execute(update(endings).values(charged=1.0, cost_usd=0.5, steps=1, attempts=1))
    assert CLOCK.moment is not None
    CLOCK.moment += settling.ASIDE_S + 1
    assert world.admit().settled == 1 and world.batch(bad).state == "done", "it is tried again later"


def test_a_batch_that_cannot_be_admitted_is_set_aside_and_named_and_the_others_go_on(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    bad, (bad_run,) = world.submit(1)
    good, good_ids = world.submit(3)
    # A number that no claim can count up: too large on PostgreSQL, none at all on SQLite, which takes any value.
    spoilt = "9223372036854775807" if world.store.postgres else "'many'"
    with world.store.write() as tx:
        tx.execute(text(f"UPDATE runs SET attempts = {spoilt} WHERE id = :run"), {"run": bad_run})
    with caplog.at_level(logging.ERROR):
        assert {work_message.run_id for work_message in world.admit().work_messages} == set(good_ids)
    assert bad in caplog.text
    assert (world.batch(bad).paused_reason, world.batch(good).paused_reason) == ("fault", None)
    (named,) = [one for one in check(world.store) if one.name == "batch_set_aside"]
    assert named.subject == bad
    spoil(world, runs, bad_run, attempts=0)
    assert resume_batch(world.store, bad)
    assert [work_message.run_id for work_message in world.admit().work_messages] == [bad_run]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_fault_that_no_batch_explains_is_raised_and_pauses_nobody(world: World) -> None:
    batch_id, _ = world.submit(1)
    with world.store.write() as tx:
        tx.execute(text("UPDATE workers SET queues = '[[['"))
    with pytest.raises(ValueError):
        world.admit(hot_set=0)
    assert world.batch(batch_id).paused_reason is None


@pytest.mark.usefixtures("stepped_clock")
def test_admission_that_stands_still_is_told_while_something_waits(world: World) -> None:
    assert admission_health(world.store).problem == ""
    world.submit(2)
    assert CLOCK.moment is not None
    CLOCK.moment += STALE_S + 1
    assert "never" in admission_health(world.store).problem
    work_messages = world.admit().work_messages
    health = admission_health(world.store)
    assert (health.succeeded_at, health.waiting_batches, health.problem) == (CLOCK.moment, 0, "")
    world.answer(work_messages[0])
    CLOCK.moment += STALE_S + 1
    assert "1 ended runs" in admission_health(world.store).problem, "an ending waits to be settled"
    assert [one.name for one in check(world.store)] == ["admission_stopped"]


@pytest.mark.parametrize("weight", [0.0, -1.0, MIN_WEIGHT / 2, MAX_WEIGHT * 2, INF, math.nan])
def test_a_weight_out_of_bounds_is_not_stored(weight: float) -> None:
    with pytest.raises(ValueError, match="weight is"):
        NewBatch(weight=weight)
