"""A person's reply that arrives while the sweeper parks the run is not lost."""

from __future__ import annotations

from tests.store.conftest import RECORD, SPENT, World
from tests.store.racing import HeldTransaction, running_into
from worker.core.config import RunConfig
from worker.core.machine import decide_think
from worker.core.moves import Acted, NewCall
from worker.store.control.held import approve, held_calls
from worker.store.control.parking import park_unserved
from worker.store.hot.writes import apply_think, claim_call
from worker.store.session import CLOCK

SERVED = ["think", "tools.local"]


def test_a_call_approved_between_the_look_and_the_parking_begins_all_the_same(
    world: World, stepped_clock: None
) -> None:
    run_id, work_message = world.start()
    work = world.think(work_message)
    call = NewCall("calculator", {}, "tools.local", held="approval")
    apply_think(world.store, work.lease, decide_think(work.hot, Acted((call,), "I pay."), RunConfig()), SPENT, RECORD)
    CLOCK.moment = 1_000_060.0
    (waiting,) = held_calls(world.store, run_id)
    parking = HeldTransaction(
        world.store, lambda: park_unserved(world.store, SERVED, 15.0), "SELECT active.run_id \nFROM active"
    )
    approval = running_into(world.store, parking, lambda: approve(world.store, waiting))
    if world.store.postgres:
        assert approval.result() is not None, "it need not wait for the sweeper"
    parking.let_go()
    work_messages = [*(approval.result() or ()), *world.admit().work_messages]
    assert [b.call for b in work_messages] == [1]
    assert claim_call(world.store, world.lease(work_messages[0])) is not None
