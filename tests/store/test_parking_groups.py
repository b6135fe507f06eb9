"""Runs whose tool group has no worker give their slots to others."""

from __future__ import annotations

from sqlalchemy import select

from tests.store.conftest import World
from worker.core.config import RunConfig
from worker.core.machine import decide_think
from worker.core.moves import Acted, NewCall
from worker.core.spending import Spent
from worker.store.control.parking import free_served, park_unserved, served_queues
from worker.store.hot.interface import StepRecord
from worker.store.hot.writes import apply_think, claim_call
from worker.store.recovery.liveness import WorkerInfo, register
from worker.store.schema.tables import active
from worker.store.session import CLOCK

RECORD = StepRecord("actions", "Action", "Action", "I look.", "stop", "practice")


def test_a_run_without_workers_for_its_tools_gives_its_slot_away_and_takes_one_again(
    world: World, stepped_clock: None
) -> None:
    world.submit(3)
    first, second = world.admit(hot_set=2).work_messages
    for work_message in (first, second):
        work = world.think(work_message)
        acted = decide_think(work.hot, Acted((NewCall("lookup", {}, "tools.rare"),), "I look."), RunConfig())
        applied = apply_think(world.store, work.lease, acted, Spent("ok"), RECORD)
        assert applied is not None
    assert world.admit(hot_set=2).work_messages == (), "both slots are taken"
    served = served_queues(world.store)
    assert park_unserved(world.store, served, 15.0) == 0, "a moment without workers is no reason yet"

    assert CLOCK.moment is not None
    CLOCK.moment += 20.0
    assert park_unserved(world.store, served, 15.0) == 2
    (third,) = world.admit(hot_set=2).work_messages
    assert applied is not None
    parked_call = applied.work_messages[0]
    assert claim_call(world.store, world.lease(parked_call)) is None, "a parked run holds no slot and must not move"

    register(world.store, WorkerInfo("rare", ["tools.rare"], "threads", 1))
    assert free_served(world.store, served_queues(world.store)) == 2
    (sent,) = world.admit(hot_set=2).work_messages
    assert sent.tool == "lookup" and claim_call(world.store, world.lease(sent)) is not None
    with world.store.read() as tx:
        marks = sorted(str(row.parked) for row in tx.execute(select(active.c.parked)))
    assert marks == ["None", "None", "ready"], "no more un-park than there are slots"
    assert third.step == 1
