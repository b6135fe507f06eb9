"""Messages delivered twice, late and never; and a backlog, which is not a loss."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from tests.store.conftest import World, world_on
from tests.store.racing import Held, running_into
from worker.core.bells import Bell
from worker.core.config import RunConfig
from worker.core.machine import decide_think
from worker.core.moves import ModelFailed
from worker.core.spending import Spent
from worker.core.states import Outcome
from worker.store.control.stopping import cancel_batch, cancel_run, pause_batch, pause_run
from worker.store.hot.writes import apply_think, claim_call, claim_think
from worker.store.recovery.sweeps import Unanswered, claimed_up_to, lost, rung_again, unanswered
from worker.store.recovery.takeover import Held as Seized
from worker.store.recovery.takeover import release
from worker.store.schema.tables import active, attempts
from worker.store.session import CLOCK, Store


@pytest.fixture
def world(store_each_way: Store) -> World:
    return world_on(store_each_way)


PATIENCE_S = 5.0


def later(seconds: float) -> None:
    CLOCK.moment = (CLOCK.moment or 0.0) + seconds


def missing(world: World, **lengths: int) -> list[Unanswered]:
    """What a sweeper holds for lost. Queues hold messages unless told otherwise."""
    waiting = unanswered(world.store, PATIENCE_S)
    named = {queue.replace("_", "."): length for queue, length in lengths.items()}
    return lost(waiting, named, claimed_up_to(world.store))


def test_a_message_that_comes_twice_is_worked_on_once(world: World) -> None:
    _, bell = world.start()
    world.think(bell)
    assert claim_think(world.store, world.lease(bell)) is None


def test_a_message_that_comes_late_finds_nothing_to_do(world: World) -> None:
    run_id, bell = world.start()
    (tool_bell,) = world.act(bell)
    assert claim_think(world.store, world.lease(bell)) is None, "its step is acting by now"
    observed = world.observe(world.call(tool_bell).lease)
    assert observed is not None
    assert claim_think(world.store, world.lease(bell)) is None, "its step is past"
    assert claim_call(world.store, world.lease(tool_bell)) is None
    world.answer(observed.bells[0])
    for old in (bell, tool_bell, observed.bells[0]):
        claim = claim_call if old.call else claim_think
        assert claim(world.store, world.lease(old)) is None, "the run has ended"
    with world.store.read() as tx:
        assert len(tx.execute(select(attempts)).all()) == 3
    assert world.run(run_id).state == "succeeded"


def test_a_message_of_an_earlier_attempt_does_not_claim_the_next_one(world: World) -> None:
    _, bell = world.start()
    again = _wait(world, bell, 0.0)
    assert claim_think(world.store, world.lease(bell)) is None
    (tool_bell,) = world.act(again)
    held = Seized(world.call(tool_bell).lease, "calculator", Outcome.HANDED_BACK)
    released = release(world.store, held, {}, "its worker was stopped")
    assert released is not None
    assert claim_call(world.store, world.lease(tool_bell)) is None
    assert claim_call(world.store, world.lease(released.bells[0])) is not None


def test_a_message_that_comes_before_its_due_time_claims_nothing(world: World, stepped_clock: None) -> None:
    _, bell = world.start()
    again = _wait(world, bell, 30.0)
    assert again.due_in_s == 30.0
    later(29.0)
    assert claim_think(world.store, world.lease(again)) is None
    later(1.0)
    assert claim_think(world.store, world.lease(again)) is not None


def _wait(world: World, bell: Bell, seconds: float) -> Bell:

    work = world.think(bell)
    decision = decide_think(work.hot, ModelFailed("429", seconds, "asked to wait"), RunConfig())
    applied = apply_think(world.store, work.lease, decision, Spent(Outcome.ERROR))
    assert applied is not None
    return applied.bells[0]


def test_a_message_that_never_comes_is_sent_again_once_its_queue_is_empty(world: World, stepped_clock: None) -> None:
    run_id, bell = world.start()
    (_, other) = world.start()
    (tool_bell,) = world.act(other)
    later(1.0)
    assert missing(world, think=0, tools_local=0) == [], "not before it had time to arrive"
    later(PATIENCE_S)
    assert {one.bell for one in missing(world, think=0, tools_local=0)} == {bell, tool_bell}
    assert [one.bell for one in missing(world, think=0, tools_local=7)] == [bell]
    (one,) = missing(world, think=0, tools_local=7)
    assert rung_again(world.store, one.bell, one.sent_at)
    assert [one.bell for one in missing(world, think=0, tools_local=7)] == []
    assert world.hot(run_id).sent_at == CLOCK.moment


def test_a_backlog_is_not_flooded_however_old_it_grows(world: World, stepped_clock: None) -> None:
    """A stopped tool group: messages wait in its queue, and none is sent again."""
    world.submit(20)
    for bell in world.admit().bells:
        world.act(bell)
    later(86_400.0)
    assert len(unanswered(world.store, PATIENCE_S)) == 20
    assert missing(world, tools_local=20) == []


def test_a_loss_within_a_backlog_is_seen_once_later_work_on_its_queue_has_been_claimed(
    world: World, stepped_clock: None
) -> None:
    _, lost_bell = world.start()
    later(1.0)
    _, claimed_later = world.start()
    later(1.0)
    _, still_waiting = world.start()
    later(PATIENCE_S + 1)
    assert missing(world, think=2) == []
    world.think(claimed_later)
    assert [one.bell for one in missing(world, think=1)] == [lost_bell]
    assert still_waiting in {one.bell for one in unanswered(world.store, PATIENCE_S)}


def test_what_ran_in_quarantine_proves_nothing_about_the_usual_queue(world: World, stepped_clock: None) -> None:

    _, waiting = world.start()
    later(1.0)
    run_id, bell = world.start()
    with world.store.write() as tx:
        tx.execute(active.update().where(active.c.run_id == run_id).values(quarantined=True))
    world.act(bell)
    later(PATIENCE_S + 1)
    assert waiting not in {one.bell for one in missing(world, think=1, tools_local=1)}


def test_what_is_paused_parked_or_cancelled_is_not_rung_for(world: World, stepped_clock: None) -> None:
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
    _, bell = world.start()
    _, other = world.start()
    (tool_bell,) = world.act(other)
    later(PATIENCE_S + 1)
    seen = {one.bell: one.sent_at for one in missing(world, think=0, tools_local=0)}
    assert set(seen) == {bell, tool_bell}

    def ring(one: Bell) -> Any:
        return lambda: rung_again(world.store, one, seen[one])

    for one in (bell, tool_bell):
        first = Held(world.store, ring(one))
        second = running_into(world.store, first, ring(one))
        assert [first.let_go(), second.result()] == [True, False]


def test_what_was_claimed_between_the_look_and_the_ringing_is_not_rung_for(world: World, stepped_clock: None) -> None:
    _, bell = world.start()
    later(PATIENCE_S + 1)
    (one,) = missing(world, think=0)
    world.think(bell)
    assert not rung_again(world.store, one.bell, one.sent_at)
