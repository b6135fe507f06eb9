"""Chapter 3. Work is claimed, done and applied: two short transactions, and nothing is open in between."""

from __future__ import annotations

from tests.store.conftest import World
from worker.core.config import RunConfig
from worker.core.machine import decide_think
from worker.core.moves import Answered
from worker.core.spending import Spent
from worker.core.states import Outcome
from worker.store.hot.interface import StepRecord
from worker.store.hot.writes import apply_think, claim_think

RECORD = StepRecord("answer", "Answer: Four.", "Answer: Four.", "", "stop", "practice", answer="Four.")


def test_a_submitted_question_waits_until_it_is_admitted(world: World) -> None:
    world.submit(3)
    assert len(world.admit(hot_set=2).work_messages) == 2, (
        "two slots, so two work messages; the third question costs nothing"
    )


def test_a_message_that_comes_twice_is_answered_once(world: World) -> None:
    world.submit()
    (work_message,) = world.admit().work_messages
    assert claim_think(world.store, world.lease(work_message)) is not None
    assert claim_think(world.store, world.lease(work_message)) is None, "not yours, stop"


def test_a_result_lands_once_under_its_token(world: World) -> None:
    world.submit()
    (work_message,) = world.admit().work_messages
    work = world.think(work_message)
    decision = decide_think(work.hot, Answered("Four."), RunConfig())
    assert apply_think(world.store, work.lease, decision, Spent(Outcome.OK), RECORD) is not None
    assert apply_think(world.store, work.lease, decision, Spent(Outcome.OK), RECORD) is None, "fenced out"
