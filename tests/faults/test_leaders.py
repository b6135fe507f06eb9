"""Two sweepers that both believe they lead: both read before either writes, and work is taken over once."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import select

import worker.faults
from tests.engine.fleet import EVERYTHING, Fleet
from tests.engine.questions import sums
from worker.celery_app import make_app
from worker.fleet.sweeper import Sweeper
from worker.settings import Settings
from worker.store.schema.tables import attempts
from worker.tasks.runtime import build_runtime

pytestmark = pytest.mark.timeout(300)


def test_two_sweepers_that_saw_the_same_dead_worker_take_its_work_over_once(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet.practice.control(latency="60")
    victim = fleet.start(slots=8)
    batch = fleet.submit(sums(8))
    fleet.wait("the model is asked", lambda: fleet.practice.stats()["in_flight"] == 8)
    victim.kill()
    both = threading.Barrier(2, timeout=60)
    monkeypatch.setattr(worker.faults, "hook", lambda point: both.wait() if point == "sweep.read" else None)
    settings = Settings(database_url=fleet.database_url, redis_url=fleet.redis_url, dead_after_ticks=3)
    runtimes = [build_runtime(settings, make_app(settings)) for _ in range(2)]
    sweepers = [Sweeper(rt) for rt in runtimes]
    threads = [threading.Thread(target=lambda one=one: [one.tick() for _ in range(8)]) for one in sweepers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    lost = fleet.rows(select(attempts).where(attempts.c.outcome == "lost"))
    assert len(lost) == 8 and all(row.attempt == 1 for row in lost)
    fleet.practice.control(latency="0")
    fleet.start(EVERYTHING)
    assert fleet.finish(batch) == {"succeeded": 8}
    assert {run.attempts for run in fleet.runs(batch)} == {4}
    for rt in runtimes:
        rt.store.dispose()
        rt.dispatcher.redis.close()
