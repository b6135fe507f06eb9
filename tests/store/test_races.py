"""Two at once: each race is interleaved by hand, on SQLite and on PostgreSQL."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select

from tests.store.conftest import World, world_on
from tests.store.racing import COMMIT, HeldTransaction, running_into
from worker.core.states import WorkerState
from worker.store.admission.admit import Capacity, admit
from worker.store.control.stopping import (
    cancel_batch,
    cancel_chunk,
    cancel_run,
    pause_batch,
    pause_run,
    resume_batch,
    resume_run,
)
from worker.store.hot.writes import claim_call, claim_think, start_call
from worker.store.recovery.liveness import set_state
from worker.store.recovery.sweeps import end_overdue
from worker.store.recovery.takeover import abandoned, release
from worker.store.schema.tables import active, attempts, endings, runs, steps
from worker.store.session import Store


@pytest.fixture
def world(holdable_each_way: Store) -> World:
    return world_on(holdable_each_way)


@pytest.mark.parametrize("before", [COMMIT, "UPDATE tool_calls"])
def test_of_two_finishers_of_a_steps_last_two_calls_exactly_one_moves_the_run_on(world: World, before: str) -> None:
    run_id, work_message = world.start()
    one, two = (world.call(b).lease for b in world.act(work_message, calls=2))
    first = HeldTransaction(world.store, lambda: world.observe(one), before)
    second = running_into(world.store, first, lambda: world.observe(two))
    results = [first.let_go(), second.result()]
    assert sorted(len(r.work_messages) for r in results if r) == [0, 1]
    hot = world.hot(run_id)
    assert (hot.step, hot.phase, hot.pending) == (2, "think", 0)


@pytest.mark.parametrize("cancel_first", [True, False])
def test_a_claim_and_a_cancel_of_its_run_never_both_win(world: World, cancel_first: bool) -> None:
    run_id, work_message = world.start()
    lease = world.lease(work_message)

    def claim() -> bool:
        return claim_think(world.store, lease) is not None

    def cancel() -> bool:
        return cancel_run(world.store, run_id) is not None

    first = HeldTransaction(world.store, cancel if cancel_first else claim)
    second = running_into(world.store, first, claim if cancel_first else cancel)
    assert first.let_go() is True
    assert second.result() is not cancel_first
    assert world.run(run_id).state == "cancelled"
    with world.store.read() as tx:
        assert tx.execute(select(active)).all() == []
        left = tx.execute(select(attempts.c.outcome)).scalars().all()
    assert left == ([] if cancel_first else ["stopped"]), "what was claimed before is closed by the cancel"


def test_a_tool_call_and_a_cancel_of_its_run_never_both_win(world: World) -> None:
    run_id, work_message = world.start()
    (tool_work_message,) = world.act(work_message)
    held = HeldTransaction(world.store, lambda: cancel_run(world.store, run_id))
    claim = running_into(world.store, held, lambda: claim_call(world.store, world.lease(tool_work_message)))
    assert held.let_go() is not None
    assert claim.result() is None


def test_a_claim_that_waited_for_the_hot_row_sees_a_batch_cancel_that_was_acknowledged_meanwhile(
    postgres_world: World,
) -> None:
    """On SQLite a claim has the database to itself from its first statement."""
    world = postgres_world
    run_id, work_message = world.start()
    held = HeldTransaction(world.store, lambda: _touch(world, run_id))
    claim = running_into(world.store, held, lambda: claim_think(world.store, world.lease(work_message)))
    assert cancel_batch(world.store, world.run(run_id).batch_id)
    assert held.let_go()
    assert claim.result() is None


def _touch(world: World, run_id: str) -> bool:
    with world.store.write() as tx:
        return tx.execute(active.update().where(active.c.run_id == run_id).values(wait_reason="touched")).rowcount == 1


@pytest.mark.parametrize("stop", [cancel_batch, pause_batch])
def test_no_claim_lands_after_a_cancel_or_pause_of_the_batch_was_acknowledged(world: World, stop) -> None:  # type: ignore[no-untyped-def]
    run_id, work_message = world.start()
    other_id, other = world.start()
    (tool_work_message,) = world.act(other)
    for batch_id in (world.run(run_id).batch_id, world.run(other_id).batch_id):
        assert stop(world.store, batch_id)
    assert claim_think(world.store, world.lease(work_message)) is None
    assert claim_call(world.store, world.lease(tool_work_message)) is None
    with world.store.read() as tx:
        assert tx.execute(select(attempts).where(attempts.c.ended_at.is_(None))).all() == [], "and nothing is left over"
        assert tx.execute(select(active.c.token).where(active.c.token.is_not(None))).all() == []


def test_no_claim_lands_after_a_pause_of_the_run_and_what_is_in_flight_may_finish(world: World) -> None:
    run_id, work_message = world.start()
    one, two = world.act(work_message, calls=2)
    work = world.call(one)
    assert pause_run(world.store, run_id)
    assert claim_call(world.store, world.lease(two)) is None
    assert start_call(world.store, work.lease), "a call that was claimed before the pause goes on"
    assert world.observe(work.lease) is not None
    assert world.hot(run_id).pending == 1


def test_an_effect_does_not_begin_after_a_cancel_of_the_batch_was_acknowledged(world: World) -> None:
    run_id, work_message = world.start()
    (tool_work_message,) = world.act(work_message)
    work = world.call(tool_work_message)
    cancel_batch(world.store, world.run(run_id).batch_id)
    assert not start_call(world.store, work.lease)


def test_two_ending_runs_that_race_for_one_free_slot_admit_one(world: World) -> None:
    world.submit(4)
    work_messages = world.admit(hot_set=2).work_messages
    assert len(work_messages) == 2
    world.answer(work_messages[0])
    slots = Capacity(hot_set=2)
    first = HeldTransaction(world.store, lambda: admit(world.store, slots))
    second = running_into(world.store, first, lambda: admit(world.store, slots))
    assert [len(first.let_go().work_messages), len(second.result().work_messages)] == [1, 0]
    with world.store.read() as tx:
        assert tx.execute(select(func.count()).select_from(active)).scalar() == 2


@pytest.mark.parametrize("before", [COMMIT, "INSERT INTO active", "UPDATE runs SET state"])
def test_a_run_that_is_admitted_while_it_is_cancelled_does_not_go_on(world: World, before: str) -> None:
    _, (run_id,) = world.submit()
    admission = HeldTransaction(world.store, lambda: world.admit(), before)
    cancel = running_into(world.store, admission, lambda: cancel_run(world.store, run_id))
    admission.let_go()
    assert cancel.result() is not None, "the cancel must not be told that the run had ended"
    _cancelled_and_gone(world, run_id)


def test_a_run_that_is_cancelled_while_it_is_admitted_does_not_enter_the_hot_set(world: World) -> None:
    _, (run_id, other) = world.submit(2)
    cancel = HeldTransaction(world.store, lambda: cancel_run(world.store, run_id))
    admission = running_into(world.store, cancel, lambda: world.admit())
    assert cancel.let_go() is not None
    work_messages = [*admission.result().work_messages, *world.admit().work_messages]
    assert [work_message.run_id for work_message in work_messages] == [other], "and the one behind it is not forgotten"
    _cancelled_and_gone(world, run_id)


def _cancelled_and_gone(world: World, run_id: str) -> None:
    assert world.run(run_id).state == "cancelled"
    with world.store.read() as tx:
        assert tx.execute(select(active).where(active.c.run_id == run_id)).all() == []


@pytest.mark.parametrize("pause", [True, False])
def test_a_run_that_is_admitted_while_it_is_paused_or_resumed_obeys_all_the_same(world: World, pause: bool) -> None:
    _, (run_id,) = world.submit()
    if not pause:
        assert pause_run(world.store, run_id)
    admitting = HeldTransaction(world.store, lambda: admit(world.store, world.capacity))
    change = pause_run if pause else resume_run
    changing = running_into(world.store, admitting, lambda: change(world.store, run_id))
    assert len(admitting.let_go().work_messages) == 1
    assert changing.result()
    assert (world.hot(run_id).paused, world.run(run_id).paused) == (pause, pause)


def test_two_sweepers_that_release_the_same_lease_at_once_do_it_once(world: World) -> None:
    run_id, work_message = world.start()
    dead = world.worker()
    (tool_work_message,) = world.act(work_message)
    world.call(tool_work_message, dead)
    set_state(world.store, dead, WorkerState.STOPPED)
    (held,) = abandoned(world.store)
    first = HeldTransaction(world.store, lambda: release(world.store, held, {}, "its worker was stopped"))
    second = running_into(world.store, first, lambda: release(world.store, held, {}, "its worker was stopped"))
    assert first.let_go() is not None and second.result() is None
    assert world.tool_call(tool_work_message).attempt == 2
    assert world.hot(run_id).pending == 1


def test_two_sweepers_that_end_overdue_runs_at_once_end_each_once(world: World, stepped_clock: None) -> None:
    for _ in range(3):
        run_id, _ = world.start()
        with world.store.write() as tx:
            tx.execute(active.update().where(active.c.run_id == run_id).values(deadline_at=1.0))
    first = HeldTransaction(world.store, lambda: end_overdue(world.store))
    second = running_into(world.store, first, lambda: end_overdue(world.store))
    ended = [*first.let_go().run_ids, *second.result().run_ids]
    assert len(ended) == 3 == len(set(ended))
    with world.store.read() as tx:
        assert tx.execute(select(func.count()).select_from(endings)).scalar() == 3


def test_two_that_cancel_the_same_batch_in_chunks_end_each_run_once(world: World) -> None:
    batch_id, ids = world.submit(9)
    world.admit(hot_set=4)
    cancel_batch(world.store, batch_id)
    first = HeldTransaction(world.store, lambda: cancel_chunk(world.store, batch_id, 6))
    second = running_into(world.store, first, lambda: cancel_chunk(world.store, batch_id, 6))
    ended = [*first.let_go().run_ids, *second.result().run_ids]
    while chunk := cancel_chunk(world.store, batch_id, 6).run_ids:
        ended += chunk
    assert sorted(ended) == sorted(ids)
    world.admit()
    assert world.batch(batch_id).cancelled == 9 and world.batch(batch_id).finished_at is not None
    assert not resume_batch(world.store, batch_id)


def test_a_step_is_recorded_once_however_often_its_message_was_delivered(world: World) -> None:
    run_id, work_message = world.start()
    lease = world.lease(work_message)
    first = HeldTransaction(world.store, lambda: claim_think(world.store, lease))
    second = running_into(world.store, first, lambda: claim_think(world.store, world.lease(work_message)))
    assert first.let_go() is not None and second.result() is None
    with world.store.read() as tx:
        assert tx.execute(select(attempts.c.token)).scalars().all() == [lease.token]
        assert tx.execute(select(steps)).all() == [] and tx.execute(select(runs.c.id)).scalars().all() == [run_id]
