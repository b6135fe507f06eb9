"""Each run that waits can say why in one sentence, whatever it waits for."""

from __future__ import annotations

from sqlalchemy import update

from tests.store.conftest import World
from worker.store.control.stopping import pause_batch, pause_run
from worker.store.queries.common import get_batch
from worker.store.queries.fleet import serving
from worker.store.queries.runs import get_run
from worker.store.queries.waiting import why_batch, why_run
from worker.store.schema.tables import active
from worker.store.session import NOW


def why(world: World, run_id: str) -> str | None:
    run = get_run(world.store, run_id)
    assert run is not None
    return why_run(world.store, run, serving(world.store))


def change(world: World, run_id: str, **values: object) -> None:
    with world.store.write() as tx:
        tx.execute(update(active).where(active.c.run_id == run_id).values(**values))


def test_a_queued_run_tells_its_place(world: World) -> None:
    _, (first, second, third) = world.submit(3)
    assert why(world, first) == "It is the next of its batch; it is admitted when slots come free."
    assert "number 3 of its batch" in str(why(world, third))
    world.admit(hot_set=1, reserve=0)
    assert "the next" in str(why(world, second))


def test_a_run_in_motion_tells_what_it_waits_for(world: World) -> None:
    batch_id, (run_id,) = world.submit()
    (work_message,) = world.admit().work_messages
    assert "waits in think for a free worker" in str(why(world, run_id))
    change(world, run_id, phase="wait", due_at=NOW + 60, wait_reason="the model asked for a pause")
    assert str(why(world, run_id)).startswith("The model asked for a pause. Its model call is due at ")
    change(world, run_id, phase="think", due_at=NOW)
    world.think(work_message)
    assert why(world, run_id) is None
    change(world, run_id, lease_until=NOW - 1)
    assert "has not answered within its time" in str(why(world, run_id))
    change(world, run_id, parked="model", parked_target="x", wait_reason="the model is paused: its key is wrong")
    assert why(world, run_id) == "The model is paused: its key is wrong. It has given its slot to others meanwhile."
    change(world, run_id, phase="act")
    batch = get_batch(world.store, batch_id)
    assert batch is not None
    assert [(r.sentence, r.runs) for r in why_batch(world.store, batch, {})] == [(why(world, run_id), 1)]


def test_paused_runs_and_batches_tell_who_can_let_them_go_on(world: World) -> None:
    batch_id, (run_id, other) = world.submit(2)
    pause_run(world.store, run_id)
    assert f"stepmill run resume {run_id}" in str(why(world, run_id))
    pause_batch(world.store, batch_id, "failures")
    assert why(world, other) == (
        f"Its batch is paused, since too many of its runs failed; `stepmill batch resume {batch_id}` lets it go on."
    )
