"""Chapter 5. Real workers, a real Redis and a model behind HTTP answer a batch; a killed worker costs a step."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select

from tests.engine.fleet import Fleet
from worker.store.schema.tables import steps

pytestmark = pytest.mark.timeout(180)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_batch_is_answered_although_a_worker_is_killed_in_its_midst(fleet: Fleet) -> None:
    doomed = fleet.start()
    batch = fleet.submit([f"What is {n} * 7?" for n in range(30)])
    fleet.wait_for_ended(batch, 3)
    fleet.start()
    doomed.kill()
    assert fleet.finish(batch) == {"succeeded": 30}
    assert [run.answer for run in fleet.runs(batch)] == [str(n * 7) for n in range(30)]
    each = select(steps.c.run_id, func.count()).group_by(steps.c.run_id)
    assert {row[1] for row in fleet.rows(each)} == {2}, "one step to compute and one to answer, none twice"
