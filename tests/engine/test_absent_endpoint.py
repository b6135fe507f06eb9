"""A model endpoint that is away: its runs wait, none fails, and they continue by themselves when it is back."""

from __future__ import annotations

import pytest

from tests.engine.fleet import Fleet
from tests.services.process import free_port
from worker.practice.config import Config
from worker.practice.serving import serve
from worker.store.control.endpoints import paused

pytestmark = pytest.mark.timeout(180)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_runs_wait_for_an_endpoint_that_nobody_reaches(fleet: Fleet) -> None:
    port = free_port()
    fleet.start(slots=4, PRACTICE_URL=f"http://127.0.0.1:{port}/v1")
    batch = fleet.submit([f"What is {n} + 1?" for n in range(6)])
    (pause,) = fleet.wait("the endpoint is paused", lambda: list(paused(fleet.store).values()), 30)
    assert "cannot reach the model endpoint" in pause.reason
    with serve(Config(), port=port):
        assert fleet.finish(batch, 60) == {"succeeded": 6}
