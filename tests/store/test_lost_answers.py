"""A commit whose answer was lost: every guarded write can be sent again, lands once, and can be read back."""

from __future__ import annotations

import pytest
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from tests.store.conftest import RECORD, SPENT, World, world_on
from tests.store.racing import answer_lost
from worker.core.config import RunConfig
from worker.core.machine import decide_think
from worker.core.moves import Acted, Answered, NewCall
from worker.core.records import Usage
from worker.core.spending import Spent
from worker.core.states import Outcome
from worker.store.admission.admit import admit
from worker.store.hot.late_usage import note_waste
from worker.store.hot.readback import landed, reclaimed, started
from worker.store.hot.writes import apply_think, claim_call, claim_think, start_call
from worker.store.recovery.takeover import OpenAttempt, release
from worker.store.schema.tables import active, endings, steps, tool_calls
from worker.store.session import Store


@pytest.fixture
def world(holdable_each_way: Store) -> World:
    return world_on(holdable_each_way)


def test_a_claim_is_not_made_twice_and_is_found_again(world: World) -> None:
    _, work_message = world.start()
    lease = world.lease(work_message)
    assert not reclaimed(world.store, lease)
    with answer_lost(world.store), pytest.raises(OperationalError):
        claim_think(world.store, lease)
    assert claim_think(world.store, lease) is None
    assert reclaimed(world.store, lease)


def test_a_claimed_tool_call_is_found_again_and_its_start_is_known_by_the_one_that_made_it(world: World) -> None:
    _, work_message = world.start()
    (tool_work_message,) = world.act(work_message)
    lease = world.lease(tool_work_message)
    with answer_lost(world.store), pytest.raises(OperationalError):
        claim_call(world.store, lease)
    assert claim_call(world.store, lease) is None and reclaimed(world.store, lease)
    assert not started(world.store, lease)
    with answer_lost(world.store), pytest.raises(OperationalError):
        start_call(world.store, lease)
    assert not start_call(world.store, lease), "a call is started once"
    assert started(world.store, lease) and not started(world.store, world.lease(tool_work_message))


def test_a_model_calls_apply_lands_once_and_is_read_back(world: World) -> None:
    run_id, work_message = world.start()
    work = world.think(work_message)
    decision = decide_think(work.hot, Acted((NewCall("calculator", {}, "tools.local"),), "I add."), RunConfig())
    assert not landed(world.store, work.lease)
    with answer_lost(world.store), pytest.raises(OperationalError):
        apply_think(world.store, work.lease, decision, SPENT, RECORD)
    assert apply_think(world.store, work.lease, decision, SPENT, RECORD) is None
    assert landed(world.store, work.lease)
    with world.store.read() as tx:
        assert len(tx.execute(select(tool_calls)).all()) == len(tx.execute(select(steps)).all()) == 1
    assert (world.hot(run_id).prompt_tokens, world.hot(run_id).pending) == (100, 1)


def test_a_runs_end_lands_once_and_is_read_back(world: World) -> None:
    run_id, work_message = world.start()
    work = world.think(work_message)
    decision = decide_think(work.hot, Answered("Four."), RunConfig())
    with answer_lost(world.store), pytest.raises(OperationalError):
        apply_think(world.store, work.lease, decision, SPENT, RECORD)
    assert apply_think(world.store, work.lease, decision, SPENT, RECORD) is None
    assert landed(world.store, work.lease)
    assert world.run(run_id).cost_usd == 0.5
    with world.store.read() as tx:
        assert len(tx.execute(select(endings)).all()) == 1


@pytest.mark.parametrize("calls", [1, 2])
def test_a_tool_calls_apply_lands_once_also_while_others_of_the_step_are_out(world: World, calls: int) -> None:
    run_id, work_message = world.start()
    work = world.call(world.act(work_message, calls)[0])
    with answer_lost(world.store), pytest.raises(OperationalError):
        world.observe(work.lease)
    assert world.observe(work.lease) is None
    assert landed(world.store, work.lease)
    assert world.hot(run_id).pending == calls - 1, "counted once"


def test_an_admission_whose_answer_was_lost_admits_nobody_twice(world: World) -> None:
    world.submit(3)
    with answer_lost(world.store), pytest.raises(OperationalError):
        admit(world.store, world.capacity)
    assert world.admit().work_messages == ()
    with world.store.read() as tx:
        assert len(tx.execute(select(active)).all()) == 3, "their work messages are sent by the sweeper"


@pytest.mark.parametrize("outcome", [Outcome.LOST, Outcome.TIMEOUT, Outcome.HANDED_BACK])
def test_what_others_ended_has_not_landed(world: World, outcome: Outcome) -> None:
    _, work_message = world.start()
    work = world.think(work_message)
    assert release(world.store, OpenAttempt(work.lease, outcome=outcome), {}, "gone") is not None
    assert not landed(world.store, work.lease)


def test_waste_is_counted_once_however_often_it_is_noted(world: World) -> None:
    run_id, work_message = world.start()
    work = world.think(work_message)
    release(world.store, OpenAttempt(work.lease), {}, "its worker died")
    spent = Spent(Outcome.FENCED, usage=Usage(100, 0, 20), cost_usd=0.5, wasted=True, billed=True)
    with answer_lost(world.store), pytest.raises(OperationalError):
        note_waste(world.store, work.lease, spent)
    note_waste(world.store, work.lease, spent)
    hot = world.hot(run_id)
    assert (hot.wasted_tokens, hot.wasted_cost_usd, hot.wasted_attempts) == (120, 0.5, 1)
    assert (hot.prompt_tokens, hot.cost_usd) == (100, 0.5), "waste is a part of what was used"
    row = world.attempt(work.lease)
    assert (row.outcome, row.wasted, row.prompt_tokens) == ("fenced", True, 100)


def test_waste_of_a_run_that_has_ended_is_counted_on_the_ended_run(world: World) -> None:
    run_id, work_message = world.start()
    work = world.think(work_message)
    (again,) = release(world.store, OpenAttempt(work.lease), {}, "its worker died").work_messages  # type: ignore[union-attr]
    world.answer(again)
    note_waste(world.store, work.lease, Spent(Outcome.FENCED, usage=Usage(7, 0, 3), wasted=True, billed=True))
    assert world.run(run_id).wasted_tokens == 10
