"""The workers of one tool group come and go during a batch: nothing is lost, and other groups do not notice."""

from __future__ import annotations

import signal

import pytest

from tests.engine.fleet import THINK, Fleet
from tests.engine.wholeness import assert_whole

pytestmark = pytest.mark.timeout(240)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_tool_group_goes_from_one_worker_to_three_and_back_during_a_batch(fleet: Fleet) -> None:
    fleet.start(THINK, slots=8)
    first = fleet.start(("tools.local",), slots=1)
    batch = fleet.submit([f"What is {n} * 3?" for n in range(120)])
    fleet.wait_for_ended(batch, 5)
    second, _third = (fleet.start(("tools.local",), slots=1) for _ in range(2))
    fleet.wait_for_ended(batch, 40)
    for leaving in (first, second):
        leaving.signal(signal.SIGTERM)
    fleet.wait("two have signed off", lambda: fleet.live_workers() == 2)
    assert fleet.finish(batch, 90) == {"succeeded": 120}
    assert [run.answer for run in fleet.runs(batch)] == [str(n * 3) for n in range(120)]
    assert_whole(fleet, batch)
