"""What a heartbeat looks after besides beating."""

from __future__ import annotations

from tests.store.conftest import World
from worker.store.control import cancel_run
from worker.store.liveness import ended_among


def test_a_worker_finds_out_that_a_run_it_works_for_has_ended(world: World) -> None:
    _, (going, stopped) = world.submit(2)
    for bell in world.admit().bells:
        world.think(bell)
    assert ended_among(world.store, [going, stopped]) == set()
    assert cancel_run(world.store, stopped) is not None
    assert ended_among(world.store, [going, stopped, "run_unknown"]) == {stopped}
