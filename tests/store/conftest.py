"""A store with a clock that tests step, and a few words to bring runs into motion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from worker.core.bells import Bell
from worker.store.admission import Admission, Capacity, admit
from worker.store.claims import CallWork, Lease, ThinkWork, claim_call, claim_think
from worker.store.liveness import WorkerInfo, register
from worker.store.session import CLOCK, Store, new_token, open_store
from worker.store.submit import LOCAL_OWNER, NewBatch, NewRun, add_runs, open_batch, put_configuration, seal


@pytest.fixture
def stepped_clock() -> Iterator[None]:
    """The clock of all statements stands still until a test moves `CLOCK.moment`."""
    CLOCK.moment = 1_000_000.0
    yield
    CLOCK.moment = None


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    opened = open_store(database_url, pool_size=8)
    yield opened
    opened.dispose()


@dataclass
class World:
    """Words for tests: submit, admit, claim."""

    store: Store
    worker_id: str
    capacity: Capacity = field(default_factory=lambda: Capacity(hot_set=1_000))

    def submit(self, count: int = 1, owner: str = LOCAL_OWNER, **batch: object) -> tuple[str, list[str]]:
        config = put_configuration(self.store, {"agent": "assistant"})
        batch_id, _ = open_batch(self.store, NewBatch(owner_id=owner, **batch))  # type: ignore[arg-type]
        questions = [NewRun(f"What is {n} + {n}?", config) for n in range(count)]
        ids = add_runs(self.store, batch_id, owner, 1, questions)
        seal(self.store, batch_id)
        return batch_id, ids

    def admit(self, **capacity: int) -> Admission:
        return admit(self.store, Capacity(**capacity) if capacity else self.capacity)

    def lease(self, bell: Bell, worker_id: str | None = None, seconds: float = 60.0) -> Lease:
        owner = worker_id or self.worker_id
        return Lease(new_token(), bell.run_id, bell.step, bell.call, bell.attempt, owner, seconds)

    def think(self, bell: Bell, worker_id: str | None = None) -> ThinkWork:
        work = claim_think(self.store, self.lease(bell, worker_id))
        assert work is not None, f"the model call {bell.task_id} could not be claimed"
        return work

    def call(self, bell: Bell, worker_id: str | None = None) -> CallWork:
        work = claim_call(self.store, self.lease(bell, worker_id))
        assert work is not None, f"the tool call {bell.task_id} could not be claimed"
        return work


@pytest.fixture
def world(store: Store) -> World:
    info = WorkerInfo("tests", ["think", "think.interactive", "tools.local"], "threads", 8)
    return World(store, register(store, info))
