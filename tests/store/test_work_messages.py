"""Messages delivered twice, late and never; and a backlog, which is not a loss."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from tests.store.conftest import World, world_on
from tests.store.racing import HeldTransaction, running_into
from worker.core.config import RunConfig
from worker.core.machine import decide_think
from worker.core.moves import ModelFailed
from worker.core.spending import Spent
from worker.core.states import Outcome
from worker.core.work_messages import WorkMessage
from worker.store.control.stopping import cancel_batch, cancel_run, pause_batch, pause_run
from worker.store.hot.writes import apply_think, claim_call, claim_think
from worker.store.recovery.sweeps import Unanswered, claimed_up_to, lost, mark_sent_again, unanswered
from worker.store.recovery.takeover import OpenAttempt, release
from worker.store.schema.tables import active, attempts
from worker.store.session import CLOCK, Store


@pytest.fixture
def world(holdable_each_way: Store) -> World:
    return world_on(holdable_each_way)


PATIENCE_S = 5.0


def later(seconds: float) -> None:
    CLOCK.moment = (CLOCK.moment or 0.0) + seconds


def missing(world: World, **lengths: int) -> list[Unanswered]:
    """What a sweeper holds for lost. Queues hold messages unless told otherwise."""
    waiting = unanswered(world.store, PATIENCE_S)
    named = {queue.replace("_", "."): length for queue, length in lengths.items()}
    return lost(waiting, named, claimed_up_to(world.store))


def test_a_message_that_comes_twice_is_worked_on_once(world: World) -> None:
    _, work_message = world.start()
    world.think(work_message)
    assert claim_think(world.store, world.lease(work_message)) is None


def test_a_message_that_comes_late_finds_nothing_to_do(world: World) -> None:
    run_id, work_message = world.start()
    (tool_work_message,) = world.act(work_message)
    assert claim_think(world.store, world.lease(work_message)) is None, "its step is acting by now"
    observed = world.observe(world.call(tool_work_message).lease)
    assert observed is not None
    assert claim_think(world.store, world.lease(work_message)) is None, "its step is past"
    assert claim_call(world.store, world.lease(tool_work_message)) is None
    world.answer(observed.work_messages[0])
    for old in (work_message, tool_work_message, observed.work_messages[0]):
        claim = claim_call if old.call else claim_think
        assert claim(world.store, world.lease(old)) is None, "the run has ended"
    with world.store.read() as tx:
        assert len(tx.execute(select(attempts)).all()) == 3
    assert world.run(run_id).state == "succeeded"


def test_a_message_of_an_earlier_attempt_does_not_claim_the_next_one(world: World) -> None:
    _, work_message = world.start()
    again = _wait(world, work_message, 0.0)
    assert claim_think(world.store, world.lease(work_message)) is None
    (tool_work_message,) = world.act(again)
    held = OpenAttempt(world.call(tool_work_message).lease, "calculator", Outcome.HANDED_BACK)
    released = release(world.store, held, {}, "its worker was stopped")
    assert released is not None
    assert claim_call(world.store, world.lease(tool_work_message)) is None
    assert claim_call(world.store, world.lease(released.work_messages[0])) is not None


def test_a_message_that_comes_before_its_due_time_claims_nothing(world: World, stepped_clock: None) -> None:
    _, work_message = world.start()
    again = _wait(world, work_message, 30.0)
    assert again.due_in_s == 30.0
    later(29.0)
    assert claim_think(world.store, world.lease(again)) is None
    later(1.0)
    assert claim_think(world.store, world.lease(again)) is not None


def _wait(world: World, work_message: WorkMessage, seconds: float) -> WorkMessage:

    work = world.think(work_message)
    decision = decide_think(work.hot, ModelFailed("429", seconds, "asked to wait"), RunConfig())
    applied = apply_think(world.store, work.lease, decision, Spent(Outcome.ERROR))
    assert applied is not None
    return applied.work_messages[0]


def test_a_message_that_never_comes_is_sent_again_once_its_queue_is_empty(world: World, stepped_clock: None) -> None:
    run_id, work_message = world.start()
    (_, other) = world.start()
    (tool_work_message,) = world.act(other)
    later(1.0)
    assert missing(world, think=0, tools_local=0) == [], "not before it had time to arrive"
    later(PATIENCE_S)
    assert {one.message for one in missing(world, think=0, tools_local=0)} == {work_message, tool_work_message}
    assert [one.message for one in missing(world, think=0, tools_local=7)] == [work_message]
    (one,) = missing(world, think=0, tools_local=7)
    assert mark_sent_again(world.store, one.message, one.sent_at)
    assert [one.message for one in missing(world, think=0, tools_local=7)] == []
    assert world.hot(run_id).sent_at == CLOCK.moment


def test_a_backlog_is_not_flooded_however_old_it_grows(world: World, stepped_clock: None) -> None:
    """A stopped tool group: messages wait in its queue, and none is sent again."""
    world.submit(20)
    for work_message in world.admit().work_messages:
        world.act(work_message)
    later(86_400.0)
    assert len(unanswered(world.store, PATIENCE_S)) == 20
    assert missing(world, tools_local=20) == []


def test_a_loss_within_a_backlog_is_seen_once_later_work_on_its_queue_has_been_claimed(
    world: World, stepped_clock: None
) -> None:
    _, lost_work_message = world.start()
    later(1.0)
    _, claimed_later = world.start()
    later(1.0)
    _, still_waiting = world.start()
    later(PATIENCE_S + 1)
    assert missing(world, think=2) == []
    world.think(claimed_later)
    assert [one.message for one in missing(world, think=1)] == [lost_work_message]
    assert still_waiting in {one.message for one in unanswered(world.store, PATIENCE_S)}


def test_what_ran_in_quarantine_proves_nothing_about_the_usual_queue(world: World, stepped_clock: None) -> None:

    _, waiting = world.start()
    later(1.0)
    run_id, work_message = world.start()
    with world.store.write() as tx:
        tx.execute(active.update().where(active.c.run_id == run_id).values(quarantined=True))
    world.act(work_message)
    later(PATIENCE_S + 1)
    assert waiting not in {one.message for one in missing(world, think=1, tools_local=1)}


def test_what_is_paused_parked_or_cancelled_is_not_announced(world: World, stepped_clock: None) -> None:
    run_id, _ = world.start()
    other_id, other = world.start()
    third_id, _ = world.start()
    fourth_id, _ = world.start()
    world.act(other)
    pause_run(world.store, run_id)
    pause_batch(world.store, world.run(other_id).batch_id)
    cancel_run(world.store, third_id)
    cancel_batch(world.store, world.run(fourth_id).batch_id)
    later(PATIENCE_S + 1)
    assert unanswered(world.store, PATIENCE_S) == []


def test_of_two_sweepers_that_see_the_same_loss_one_rings(world: World, stepped_clock: None) -> None:
    _, work_message = world.start()
    _, other = world.start()
    (tool_work_message,) = world.act(other)
    later(PATIENCE_S + 1)
    seen = {one.message: one.sent_at for one in missing(world, think=0, tools_local=0)}
    assert set(seen) == {work_message, tool_work_message}

    def deliver(one: WorkMessage) -> Any:
        return lambda: mark_sent_again(world.store, one, seen[one])

    for one in (work_message, tool_work_message):
        first = HeldTransaction(world.store, deliver(one))
        second = running_into(world.store, first, deliver(one))
        assert [first.let_go(), second.result()] == [True, False]


def test_what_was_claimed_between_the_look_and_the_sending_is_not_announced(world: World, stepped_clock: None) -> None:
    _, work_message = world.start()
    later(PATIENCE_S + 1)
    (one,) = missing(world, think=0)
    world.think(work_message)
    assert not mark_sent_again(world.store, one.message, one.sent_at)
