"""A process is killed once at each named point; the run continues within the stated time and ends correctly."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import select

from tests.engine.fleet import SLACK_S, Fleet
from tests.engine.questions import counted
from tests.engine.wholeness import assert_whole
from worker.core.machine import unknown_outcome
from worker.faults import POINTS
from worker.store.schema.tables import attempts, tool_calls

pytestmark = pytest.mark.timeout(300)

IN_WORKERS = [point for point in POINTS if not point.startswith("migrate")]
UNCERTAIN = ("call.started", "call.done")
"""Killed here, a call that must not be repeated has begun and has not told its result."""


@pytest.mark.parametrize("point", IN_WORKERS)
def test_a_process_killed_at_a_point_costs_one_step_at_most(fleet: Fleet, point: str) -> None:
    mark = fleet.directory / "struck"
    batch = fleet.submit(counted(6))
    victim = fleet.start(wait=False, TEST_FAULT=json.dumps({"point": point, "do": "kill", "once": str(mark)}))
    fleet.wait("the fault has struck", mark.exists)
    fleet.wait("the worker is dead", lambda: not victim.alive)
    fleet.start()
    assert fleet.finish(batch, fleet.settings.takeover_s + fleet.settings.resend_after_s + SLACK_S) == {"succeeded": 6}
    assert_whole(fleet, batch)
    lost = fleet.rows(select(attempts).where(attempts.c.outcome.in_(["lost", "fenced"])))
    unknown = fleet.rows(select(tool_calls).where(tool_calls.c.observation == unknown_outcome("count_up")))
    assert {row.run_id for row in unknown} <= {row.run_id for row in lost}
    if point in UNCERTAIN:
        assert len(unknown) >= 1, "the model is told that nobody knows"
    elif not point.startswith("call."):
        assert sum(fleet.counter.counts.values()) + len(unknown) >= 6
