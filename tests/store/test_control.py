"""Pause, resume, parking, cancel and time limits as an operator sees them."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select

from tests.store.conftest import World
from worker.core.config import RunConfig
from worker.core.machine import decide_think
from worker.core.moves import GivenBack, Parking
from worker.core.spending import Spent
from worker.core.states import Outcome, Parked
from worker.store.control.endpoints import pause, reopen_due, resume
from worker.store.control.stopping import (
    cancel_batch,
    cancel_chunk,
    pause_batch,
    pause_run,
    resume_batch,
    resume_run,
    unfinished_cancels,
)
from worker.store.hot.writes import apply_think, claim_call, claim_think
from worker.store.recovery.sweeps import end_overdue, park_paused
from worker.store.schema.tables import active
from worker.store.session import CLOCK


def later(seconds: float) -> None:
    CLOCK.moment = (CLOCK.moment or 0.0) + seconds


def test_paused_runs_give_their_slots_to_others_and_take_slots_ahead_of_new_ones(world: World) -> None:
    paused, _ = world.submit(6)
    assert len(world.admit(hot_set=4).work_messages) == 4
    pause_batch(world.store, paused)
    assert park_paused(world.store) == 4
    other, _ = world.submit(10)
    work_messages = world.admit(hot_set=4).work_messages
    assert {world.run(b.run_id).batch_id for b in work_messages} == {other} and len(work_messages) == 4
    resume_batch(world.store, paused)
    assert park_paused(world.store) == 4
    assert world.admit(hot_set=4).work_messages == (), "no stampede: they wait for slots"
    for work_message in work_messages[:2]:
        world.answer(work_message)
    back = world.admit(hot_set=4).work_messages
    assert [world.run(b.run_id).batch_id for b in back] == [paused, paused]
    assert all(claim_think(world.store, world.lease(b)) for b in back)


def test_a_run_parked_while_it_acts_gets_all_its_open_calls_announced_again(world: World) -> None:
    run_id, work_message = world.start()
    one, two, three = world.act(work_message, calls=3)
    world.observe(world.call(one).lease)
    pause_run(world.store, run_id)
    park_paused(world.store)
    assert resume_run(world.store, run_id)
    park_paused(world.store)
    assert claim_call(world.store, world.lease(two)) is None, "it has no slot yet"
    assert set(world.admit().work_messages) == {two, three}
    assert claim_call(world.store, world.lease(two)) is not None


def test_a_run_with_work_in_flight_is_parked_only_when_that_has_ended(world: World) -> None:
    run_id, work_message = world.start()
    (tool_work_message,) = world.act(work_message)
    work = world.call(tool_work_message)
    pause_run(world.store, run_id)
    assert park_paused(world.store) == 0
    world.observe(work.lease)
    assert park_paused(world.store) == 1


def test_a_run_paused_again_before_it_got_its_slot_goes_back_to_waiting(world: World) -> None:
    run_id, _ = world.start()
    for _ in range(2):
        pause_run(world.store, run_id)
        park_paused(world.store)
        assert world.hot(run_id).parked == "paused"
        resume_run(world.store, run_id)
        park_paused(world.store)
        assert world.hot(run_id).parked == "ready"
    pause_run(world.store, run_id)
    park_paused(world.store)
    assert world.admit().work_messages == ()


def test_an_unparked_run_that_waits_for_a_moment_of_its_own_is_announced_then(
    world: World, stepped_clock: None
) -> None:
    run_id, work_message = world.start()
    work = world.think(work_message)
    decision = decide_think(work.hot, GivenBack(Outcome.DEFERRED, 100.0, "a bucket"), RunConfig())
    apply_think(world.store, work.lease, decision, Spent(Outcome.DEFERRED))
    pause_run(world.store, run_id)
    park_paused(world.store)
    resume_run(world.store, run_id)
    park_paused(world.store)
    later(40.0)
    (again,) = world.admit().work_messages
    assert again.due_in_s == pytest.approx(60.0)
    assert world.hot(run_id).sent_at == 1_000_100.0


def test_the_time_limit_stands_still_while_a_run_is_parked(world: World, stepped_clock: None) -> None:
    run_id, work_message = world.start()
    other_id, other = world.start()
    with world.store.write() as tx:
        tx.execute(active.update().values(deadline_at=1_000_100.0))
    pause_run(world.store, run_id)
    park_paused(world.store)
    later(86_400.0)
    assert claim_think(world.store, world.lease(other)) is None
    assert end_overdue(world.store).run_ids == (other_id,)
    assert (world.run(other_id).state, world.run(other_id).error_code) == ("failed", "deadline")
    resume_run(world.store, run_id)
    park_paused(world.store)
    (again,) = world.admit().work_messages
    assert world.hot(run_id).deadline_at == 1_000_100.0 + 86_400.0
    assert claim_think(world.store, world.lease(again)) is not None
    assert work_message.run_id == run_id


def test_a_run_past_its_time_limit_ends_with_what_it_had_in_flight(world: World, stepped_clock: None) -> None:
    run_id, work_message = world.start()
    (tool_work_message,) = world.act(work_message)
    work = world.call(tool_work_message)
    with world.store.write() as tx:
        tx.execute(active.update().values(deadline_at=1_000_001.0))
    later(2.0)
    assert end_overdue(world.store).aborted == (run_id,)
    run = world.run(run_id)
    assert (run.error_code, run.partial_answer, run.steps) == ("deadline", "I add.", 1)
    assert world.attempt(work.lease).outcome == "stopped"
    assert world.observe(work.lease) is None


def test_a_batch_that_was_paused_for_long_has_stored_no_credit(world: World) -> None:
    steady, _ = world.submit(60)
    paused, _ = world.submit(60)
    pause_batch(world.store, paused)
    for _ in range(20):  # the other one has the place alone
        for work_message in world.admit(hot_set=2).work_messages:
            world.answer(work_message)
    resume_batch(world.store, paused)
    served = []
    for _ in range(8):
        work_messages = world.admit(hot_set=2).work_messages
        served += [world.run(work_message.run_id).batch_id for work_message in work_messages]
        for work_message in work_messages:
            world.answer(work_message)
    assert served.count(steady) == served.count(paused) == 8


def test_at_its_bound_of_parked_runs_a_batch_admits_no_more_and_others_go_on(world: World) -> None:
    batch_id, _ = world.submit(12)
    for _ in range(2):
        for work_message in world.admit(hot_set=3, parked_per_batch=6).work_messages:
            _park(world, work_message)
    assert world.admit(hot_set=3, parked_per_batch=6).work_messages == ()
    other, _ = world.submit(2)
    work_messages = world.admit(hot_set=3, parked_per_batch=6).work_messages
    assert [world.run(b.run_id).batch_id for b in work_messages] == [other, other]
    with world.store.read() as tx:
        parked = select(func.count()).where(active.c.batch_id == batch_id, active.c.parked.is_not(None))
        assert tx.execute(parked).scalar() == 6


def _park(world: World, work_message) -> None:  # type: ignore[no-untyped-def]
    work = world.think(work_message)
    decision = decide_think(
        work.hot, GivenBack(Outcome.DEFERRED, reason="paused", park=Parking(Parked.MODEL, "m")), RunConfig()
    )
    assert apply_think(world.store, work.lease, decision, Spent(Outcome.DEFERRED)) is not None


def test_a_run_parked_for_a_model_just_after_that_was_opened_is_not_forgotten(world: World) -> None:
    run_id, work_message = world.start()
    pause(world.store, "m", "http://127.0.0.1:9/v1", "small", "a wrong key", for_s=None)
    resume(world.store, "m")
    _park(world, work_message)
    park_paused(world.store)
    assert [b.run_id for b in world.admit().work_messages] == [run_id]


def test_a_probe_of_a_paused_model_comes_before_those_that_wait_and_keeps_its_time(
    world: World, stepped_clock: None
) -> None:
    pause(world.store, "m", "http://127.0.0.1:9/v1", "small", "a wrong key", for_s=None)
    _, ids = world.submit(3)
    for work_message in world.admit().work_messages:
        _park(world, work_message)
    with world.store.write() as tx:
        tx.execute(active.update().values(deadline_at=1_000_100.0))
    later(1_000.0)
    assert park_paused(world.store) == 0 and reopen_due(world.store) == 1
    (probe,) = world.admit().work_messages
    assert probe.run_id in ids
    assert world.hot(probe.run_id).deadline_at == 1_001_100.0


def test_a_cancelled_batch_ends_in_chunks_those_in_motion_first(world: World) -> None:
    batch_id, ids = world.submit(10)
    work_messages = world.admit(hot_set=3).work_messages
    lease = world.think(work_messages[0]).lease
    assert cancel_batch(world.store, batch_id) and not cancel_batch(world.store, batch_id)
    assert unfinished_cancels(world.store) == [batch_id]
    assert world.admit().work_messages == (), "nothing of it is admitted any more"
    first = cancel_chunk(world.store, batch_id, 4)
    assert set(first.aborted) == {b.run_id for b in work_messages} and len(first.run_ids) == 4
    assert world.attempt(lease).outcome == "stopped"
    ended = list(first.run_ids)
    while chunk := cancel_chunk(world.store, batch_id, 4).run_ids:
        ended += chunk
    assert sorted(ended) == sorted(ids)
    assert world.admit().settled == 10
    batch = world.batch(batch_id)
    assert (batch.state, batch.cancelled, batch.total) == ("cancelled", 10, 10)
    assert unfinished_cancels(world.store) == []
