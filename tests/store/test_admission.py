"""Slots, watermarks, charges and counters: what the admitter adds up."""

from __future__ import annotations

from sqlalchemy import func, select

from tests.store.conftest import World
from worker.core.config import RunConfig
from worker.core.machine import decide_think
from worker.core.moves import GivenBack
from worker.core.spending import Spent
from worker.core.states import Klass
from worker.core.work_messages import WorkMessage
from worker.store.admission.admit import Capacity, admit
from worker.store.control.stopping import cancel_run
from worker.store.hot.writes import apply_think
from worker.store.schema.tables import active, attempts, batches, owners
from worker.store.session import CLOCK


def test_runs_cancelled_in_the_queue_are_stepped_over_and_charged_to_nobody(world: World) -> None:
    batch_id, ids = world.submit(10, klass=Klass.BATCH)
    for run_id in ids[:7]:
        assert cancel_run(world.store, run_id) is not None
        assert cancel_run(world.store, run_id) is None
    first = world.admit(hot_set=8)
    assert [b.run_id for b in first.work_messages] == ids[7:]
    assert world.batch(batch_id).watermark == 10
    with world.store.read() as tx:
        charged = tx.execute(select(func.sum(active.c.charged))).scalar()
        owner = tx.execute(select(owners.c.vtime)).scalar()
        assert charged == tx.execute(select(batches.c.vtime)).scalar() == owner == 9.0
    for work_message in first.work_messages:
        world.answer(work_message)
    world.admit()
    batch = world.batch(batch_id)
    assert (batch.state, batch.succeeded, batch.cancelled, batch.steps_per_run) == ("done", 3, 7, 1.0)


def test_the_counters_of_a_batch_are_the_sums_over_its_runs(world: World) -> None:
    batch_id, ids = world.submit(8)
    work_messages = world.admit().work_messages
    for work_message in work_messages[:3]:
        world.answer(work_message)
    cancel_run(world.store, work_messages[3].run_id)
    observed = world.observe(world.call(world.act(work_messages[4])[0]).lease)
    assert observed is not None
    world.answer(observed.work_messages[0])
    assert world.admit().settled == 5
    batch, mine = world.batch(batch_id), [world.run(run_id) for run_id in ids]
    for name in ("steps", "prompt_tokens", "completion_tokens", "cost_usd", "attempts", "unpriced", "wasted_tokens"):
        assert getattr(batch, name) == sum(getattr(r, name) for r in mine), name
    assert (batch.succeeded, batch.cancelled, batch.failed, batch.state) == (4, 1, 0, "open")
    with world.store.read() as tx:
        assert tx.execute(select(attempts).where(attempts.c.ended_at.is_(None))).all() == []


def test_a_newcomer_gets_the_slots_that_come_free_until_it_has_its_share(world: World) -> None:
    first, _ = world.submit(100)
    held = list(world.admit(hot_set=10).work_messages)
    second, _ = world.submit(100)
    for _ in range(5):
        world.answer(held.pop(0))
        (work_message,) = world.admit(hot_set=10).work_messages
        assert world.run(work_message.run_id).batch_id == second
    batches_of = [world.run(b.run_id).batch_id for b in held]
    assert batches_of == [first] * 5


def wait_for_the_limit(world: World, work_message: WorkMessage, seconds: float) -> None:
    work = world.think(work_message)
    decision = decide_think(work.hot, GivenBack("deferred", seconds, "the rate limit of its model"), RunConfig())
    assert apply_think(world.store, work.lease, decision, Spent("deferred")) is not None


def test_runs_that_wait_for_a_rate_limit_leave_their_slots_to_others_up_to_a_bound(
    world: World, stepped_clock: None
) -> None:
    slow, _ = world.submit(100)
    seen: list[str] = []
    for _ in range(4):
        work_messages = world.admit(hot_set=10, parked_per_batch=25).work_messages
        seen += [work_message.run_id for work_message in work_messages]
        for work_message in work_messages:
            wait_for_the_limit(world, work_message, 20.0)
    assert {world.run(run_id).batch_id for run_id in seen} == {slow} and len(seen) == 30, "ten at a time, to the bound"
    other, _ = world.submit(20)
    work_messages = world.admit(hot_set=10, parked_per_batch=25).work_messages
    assert [world.run(work_message.run_id).batch_id for work_message in work_messages] == [other] * 10
    assert CLOCK.moment is not None
    CLOCK.moment += 20
    for work_message in work_messages:
        world.answer(work_message)
    assert world.admit(hot_set=10, parked_per_batch=25).work_messages == (), (
        "those whose wait is over are in motion again"
    )


def test_a_hundred_batches_of_one_owner_do_not_outweigh_one_of_another(world: World) -> None:
    for _ in range(30):
        world.submit(4, owner="busy")
    world.submit(40, owner="quiet")
    admitted = [world.run(b.run_id).owner_id for b in world.admit(hot_set=20).work_messages]
    assert admitted.count("quiet") == admitted.count("busy") == 10


def test_interactive_runs_have_slots_of_their_own_behind_any_backlog(world: World) -> None:
    world.submit(50)
    slots = Capacity(hot_set=4, reserve=2)
    assert len(admit(world.store, slots).work_messages) == 4
    interactive, _ = world.submit(5, klass=Klass.INTERACTIVE)
    work_messages = admit(world.store, slots).work_messages
    assert [(world.run(b.run_id).batch_id, b.queue) for b in work_messages] == [(interactive, "think.interactive")] * 2


def test_an_endless_stream_of_interactive_runs_leaves_a_slot_in_four_to_the_others(world: World) -> None:
    slow, _ = world.submit(50)
    world.submit(50, klass=Klass.INTERACTIVE)
    slots, admitted = Capacity(hot_set=1, reserve=0), []
    for _ in range(12):
        (work_message,) = admit(world.store, slots).work_messages
        admitted.append(world.run(work_message.run_id).batch_id)
        world.answer(work_message)
    assert admitted.count(slow) == 3


def test_a_batch_that_is_not_sealed_yet_admits_nothing(world: World) -> None:
    batch_id, _ = world.submit(2)
    with world.store.write() as tx:
        tx.execute(batches.update().where(batches.c.id == batch_id).values(sealed=False))
    assert world.admit().work_messages == ()
