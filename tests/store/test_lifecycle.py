"""A run from its submission to its end, with nothing but the store."""

from __future__ import annotations

from sqlalchemy import select

from tests.store.conftest import RECORD, SPENT, World
from worker.core.config import RunConfig
from worker.core.machine import decide_call, decide_think
from worker.core.moves import Acted, Answered, CallFinished, NewCall
from worker.core.spending import Spent
from worker.store.hot.writes import apply_call, apply_think
from worker.store.schema.tables import active, batches, endings, runs, steps, tool_calls


def test_a_run_thinks_acts_twice_side_by_side_and_answers(world: World) -> None:
    batch_id, (run_id,) = world.submit()
    (work_message,) = world.admit().work_messages
    work = world.think(work_message)
    calls = (NewCall("calculator", {"expression": "1+1"}, "tools.local"),) * 2
    acted = decide_think(work.hot, Acted(calls, "I add."), RunConfig())
    applied = apply_think(world.store, work.lease, acted, SPENT, RECORD)
    assert applied is not None and [b.call for b in applied.work_messages] == [1, 2]

    results = []
    for call_work_message in applied.work_messages:
        lease = world.call(call_work_message).lease
        result = apply_call(world.store, lease, lambda h, v: decide_call(h, v, CallFinished("2")), Spent("ok"))
        assert result is not None
        results.append(result)
    assert [len(r.work_messages) for r in results] == [0, 1], "only the last call of the step moves the run on"

    work = world.think(results[1].work_messages[0])
    assert work.hot.step == 2
    answered = decide_think(work.hot, Answered("Four."), RunConfig())
    applied = apply_think(world.store, work.lease, answered, SPENT, RECORD)
    assert applied is not None and applied.ended

    assert world.admit().settled == 1
    with world.store.read() as tx:
        run = tx.execute(select(runs).where(runs.c.id == run_id)).one()
        batch = tx.execute(select(batches).where(batches.c.id == batch_id)).one()
        assert tx.execute(select(active)).all() == [] and tx.execute(select(endings)).all() == []
        assert [row.step for row in tx.execute(select(steps))] == [1, 2]
        assert [row.observation for row in tx.execute(select(tool_calls))] == ["2", "2"]
    assert (run.state, run.answer, run.steps, run.prompt_tokens, run.cost_usd) == ("succeeded", "Four.", 2, 200, 1.0)
    assert (batch.state, batch.succeeded, batch.steps, batch.cost_usd) == ("done", 1, 2, 1.0)
