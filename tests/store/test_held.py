"""Calls that wait for a person hold no slot, and continue with the person's reply."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import select

from tests.store.conftest import World
from worker.core.config import RunConfig
from worker.core.machine import decide_think
from worker.core.moves import Acted, NewCall
from worker.core.spending import Spent
from worker.core.states import Outcome
from worker.core.work_messages import WorkMessage
from worker.store.control.held import answer, approve, held_calls
from worker.store.control.parking import park_unserved
from worker.store.hot.interface import StepRecord
from worker.store.hot.writes import apply_think, claim_call
from worker.store.schema.tables import tool_calls
from worker.store.session import CLOCK

RECORD = StepRecord("actions", "Action", "Action", "I act.", "stop", "practice")
Park = Callable[[], None]


@pytest.fixture
def waiting(world: World, stepped_clock: None) -> str:
    _, (run_id,) = world.submit()
    (work_message,) = world.admit(hot_set=1).work_messages
    work = world.think(work_message)
    call = NewCall("transfer", {"euros": 5}, "tools.local", held="approval")
    applied = apply_think(
        world.store, work.lease, decide_think(work.hot, Acted((call,), "I act."), RunConfig()), Spent("ok"), RECORD
    )
    assert applied is not None and applied.work_messages == (), "nothing is sent before a person has spoken"
    return run_id


def test_a_held_call_cannot_be_claimed(world: World, waiting: str) -> None:
    assert claim_call(world.store, world.lease(WorkMessage(waiting, 1, 1, 1, "tools.local", "transfer"))) is None


def test_an_approved_call_begins(world: World, waiting: str) -> None:
    (held,) = held_calls(world.store, waiting)
    work_messages = approve(world.store, held)
    assert work_messages is not None and len(work_messages) == 1
    assert claim_call(world.store, world.lease(work_messages[0])) is not None
    assert approve(world.store, held) is None, "it is approved once"


def test_a_waiting_run_gives_its_slot_away_and_takes_one_again_when_approved(world: World, waiting: str) -> None:
    world.submit()
    assert world.admit(hot_set=1).work_messages == ()
    assert CLOCK.moment is not None
    CLOCK.moment += 60.0
    assert park_unserved(world.store, ["tools.local"], 15.0) == 1
    assert len(world.admit(hot_set=1).work_messages) == 1, "another run takes the slot"
    (held,) = held_calls(world.store, waiting)
    assert approve(world.store, held) == ()
    (sent,) = world.admit(hot_set=2).work_messages
    assert (sent.run_id, sent.tool) == (waiting, "transfer")


def test_a_refused_call_becomes_an_observation(world: World, waiting: str) -> None:
    (held,) = held_calls(world.store, waiting)
    applied = answer(world.store, held, "A person refused this call: too much.", Outcome.ERROR)
    assert applied is not None and [b.step for b in applied.work_messages] == [2]
    assert answer(world.store, held, "again") is None
    with world.store.read() as tx:
        (row,) = tx.execute(select(tool_calls.c.observation, tool_calls.c.outcome, tool_calls.c.held)).all()
    assert tuple(row) == ("A person refused this call: too much.", "error", None)
