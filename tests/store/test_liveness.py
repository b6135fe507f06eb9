"""What the heartbeat thread does besides beating."""

from __future__ import annotations

from tests.store.conftest import World
from worker.store.control.stopping import cancel_run
from worker.store.recovery.liveness import Pulse, ended_among


def test_a_worker_finds_out_that_a_run_it_works_for_has_ended(world: World) -> None:
    _, (going, stopped) = world.submit(2)
    for work_message in world.admit().work_messages:
        world.think(work_message)
    assert ended_among(world.store, [going, stopped]) == set()
    assert cancel_run(world.store, stopped) is not None
    assert ended_among(world.store, [going, stopped, "run_unknown"]) == {stopped}


def test_while_a_sweepers_own_beats_do_not_arrive_it_misses_nobody() -> None:
    pulse = Pulse(dead_after=4)
    for _ in range(20):
        assert pulse.tick({"own": 7, "other": 3}, own="own") == {}
    looks = [pulse.tick({"own": 8 + n, "other": 3}, own="own") for n in range(5)]
    assert looks[:2] == [{}, {}], "once they arrive, others have half of the ticks at least to beat, too"
    assert looks[-1] == {"other": 3}


def test_a_sweeper_that_was_itself_taken_for_dead_misses_nobody() -> None:
    pulse = Pulse(dead_after=2)
    for _ in range(10):
        assert pulse.tick({"other": 3}, own="own") == {}
