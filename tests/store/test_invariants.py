"""The checks find every violation, and report nothing in a sound database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import delete, insert, update

from tests.store.conftest import World
from worker.core.work_messages import WorkMessage
from worker.store.control.stopping import cancel_batch, cancel_chunk, cancel_run, pause_batch, resume_batch
from worker.store.recovery.invariants import COLD, HOT, Violation, check
from worker.store.recovery.sweeps import park_paused
from worker.store.recovery.takeover import OpenAttempt, release
from worker.store.schema.tables import active, attempts, batches, endings, runs, tool_calls


def names(found: list[Violation]) -> set[str]:
    return {violation.name for violation in found}


def life_of_batches(world: World) -> Iterator[str]:
    """Many situations, one after the other."""
    batch_id, ids = world.submit(12)
    yield "queued"
    work_messages = world.admit(hot_set=8).work_messages
    yield "admitted"
    lease = world.think(work_messages[0]).lease
    tools = world.act(work_messages[1], calls=3)
    call = world.call(tools[0]).lease
    yield "in flight"
    world.observe(call)
    yield "one of three observed"
    release(world.store, OpenAttempt(lease), {}, "its worker died")
    yield "taken over"
    world.answer(work_messages[2])
    cancel_run(world.store, work_messages[3].run_id)
    cancel_run(world.store, ids[-1])
    yield "ended and not settled"
    world.admit(hot_set=8)
    yield "settled"
    pause_batch(world.store, batch_id)
    park_paused(world.store)
    yield "parked"
    resume_batch(world.store, batch_id)
    park_paused(world.store)
    world.admit(hot_set=8)
    yield "un-parked"
    world.think(work_messages[4])
    cancel_batch(world.store, batch_id)
    cancel_chunk(world.store, batch_id, 3)
    yield "half cancelled"
    while cancel_chunk(world.store, batch_id).run_ids:
        world.admit()
    yield "cancelled"


def test_nothing_is_wrong_in_any_situation_that_the_engine_makes(world: World) -> None:
    situations = 0
    for situation in life_of_batches(world):
        assert check(world.store) == [], situation
        situations += 1
    assert situations == 11


def _set(table: Any, **values: Any) -> Callable[[World, WorkMessage], Any]:
    return lambda world, work_message: update(table).values(**values)


BROKEN: dict[str, Callable[[World, WorkMessage], Any]] = {
    "ended_in_motion": lambda world, work_message: (
        update(runs).where(runs.c.id == work_message.run_id).values(state="succeeded")
    ),
    "no_next_event": lambda world, work_message: (
        update(active).where(active.c.run_id == work_message.run_id).values(phase="act", pending=0)
    ),
    "half_a_lease": _set(active, worker_id="somebody"),
    "pending_differs": _set(active, pending=3),
    "call_without_result": _set(tool_calls, state="done"),
    "worked_on_twice": lambda world, work_message: insert(attempts).values(
        [{"token": f"t{n}", "run_id": work_message.run_id, "step": 1, "call": 1} for n in range(2)]
    ),
    "open_after_the_end": lambda world, sent: insert(endings).values(run_id=sent.run_id, batch_id="unknown"),
    "active_at_rest": lambda world, work_message: delete(active),
    "counters_differ": _set(batches, failed=1),
    "over_allotment": _set(active, allotment_usd=0.1),
    "over_budget": _set(batches, budget_usd=1.0, cost_usd=0.9, reserved_usd=0.2),
    "sums_differ": _set(batches, prompt_tokens=1),
    "left_behind": lambda world, work_message: update(runs).values(state="queued"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_each_check_finds_what_it_is_for(world: World, name: str) -> None:
    run_id, work_message = world.start()
    world.call(world.act(work_message)[0])
    if name == "open_after_the_end":
        with world.store.write() as tx:
            tx.execute(update(runs).values(state="failed"))
    assert name == "open_after_the_end" or check(world.store) == []
    with world.store.write() as tx:
        tx.execute(BROKEN[name](world, work_message))
    found = [violation for violation in check(world.store) if violation.name == name]
    assert found and found[0].says.endswith(".")
    assert found[0].subject in (run_id, world.run(run_id).batch_id)


def test_every_check_is_tested_and_the_limit_holds(world: World) -> None:
    assert {invariant.name for invariant in (*HOT, *COLD)} == set(BROKEN)
    world.submit(6)
    world.admit()
    with world.store.write() as tx:
        tx.execute(update(active).values(pending=9))
    assert len(check(world.store, limit=4)) == 4
    assert names(check(world.store, limit=4)) == {"pending_differs"}
