"""A store with a clock that tests advance, and helpers that set runs in motion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from sqlalchemy import Executable, select

from worker.core.config import RunConfig
from worker.core.machine import decide_call, decide_think
from worker.core.moves import Acted, Answered, CallEvent, CallFinished, CallView, Hot, NewCall
from worker.core.records import Usage
from worker.core.spending import Spent
from worker.core.work_messages import WorkMessage
from worker.store.admission.admit import Admission, Capacity, admit
from worker.store.admission.submit import LOCAL_OWNER, NewBatch, NewRun, add_runs, open_batch, seal
from worker.store.configurations import put_configuration
from worker.store.hot.interface import Applied, CallWork, HotWrites, Lease, Seen, StepRecord, ThinkWork
from worker.store.hot.parameters import hot_of
from worker.store.hot.portable import PORTABLE
from worker.store.hot.writes import apply_call, apply_think, claim_call, claim_think
from worker.store.opening import open_store
from worker.store.recovery.liveness import WorkerInfo, register
from worker.store.schema.tables import active, attempts, batches, runs, tool_calls
from worker.store.session import CLOCK, AnyRow, Store, new_token

RECORD = StepRecord("actions", "Action: calculator", "Action: calculator", "I add.", "stop", "practice")
SPENT = Spent("ok", usage=Usage(100, 10, 20), cost_usd=0.5, billed=True)


@pytest.fixture
def stepped_clock() -> Iterator[None]:
    """The clock of all statements stands still until a test moves `CLOCK.moment`."""
    CLOCK.moment = 1_000_000.0
    yield
    CLOCK.moment = None


class HoldableStore(Store):
    """Sends single statements inside a transaction, so that tests can hold or lose their commit like any other.

    Production does not, so only tests of races and of lost answers use it.
    """

    def once(self, statement: Executable, values: Mapping[str, Any]) -> AnyRow | None:
        with self.write() as tx:
            return tx.execute(statement, values).one_or_none()


WAYS: dict[str, tuple[str, HotWrites | None]] = {
    "sqlite": ("sqlite_url", None),
    "postgres": ("postgres_url", None),
    "postgres-one-by-one": ("postgres_url", PORTABLE),
}


def holdable(url: str, hot: HotWrites | None = None) -> HoldableStore:
    """Opens a database with its own way to write what the hot path writes, or with another one."""
    opened = open_store(url, pool_size=8)
    return HoldableStore(opened.engine, opened._writer, hot or opened.hot)


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    opened = open_store(database_url)
    yield opened
    opened.dispose()


@pytest.fixture(params=WAYS)
def store_each_way(request: pytest.FixtureRequest) -> Iterator[Store]:
    """On SQLite, and on PostgreSQL both ways: each usual write as one statement, and statement by statement."""
    url, hot = WAYS[request.param]
    opened = open_store(request.getfixturevalue(url))
    yield replace(opened, hot=hot or opened.hot)
    opened.dispose()


@pytest.fixture(params=WAYS)
def holdable_each_way(request: pytest.FixtureRequest) -> Iterator[Store]:
    """The same, where each commit can be held or lost."""
    url, hot = WAYS[request.param]
    opened = holdable(request.getfixturevalue(url), hot)
    yield opened
    opened.dispose()


@dataclass
class World:
    """Words for tests: submit, admit, claim."""

    store: Store
    worker_id: str
    capacity: Capacity = field(default_factory=lambda: Capacity(hot_set=1_000))
    _seen: dict[str, tuple[Seen, CallView]] = field(default_factory=dict)

    def submit(self, count: int = 1, owner: str = LOCAL_OWNER, **batch: object) -> tuple[str, list[str]]:
        config = put_configuration(self.store, RunConfig(name="assistant"))
        batch_id, _ = open_batch(self.store, NewBatch(owner_id=owner, **batch))  # type: ignore[arg-type]
        questions = [NewRun(f"What is {n} + {n}?", config) for n in range(count)]
        ids = add_runs(self.store, batch_id, owner, 1, questions)
        seal(self.store, batch_id)
        return batch_id, ids

    def admit(self, **capacity: int) -> Admission:
        return admit(self.store, Capacity(**capacity) if capacity else self.capacity)

    def lease(self, work_message: WorkMessage, worker_id: str | None = None, seconds: float = 60.0) -> Lease:
        owner = worker_id or self.worker_id
        return Lease(
            new_token(), work_message.run_id, work_message.step, work_message.call, work_message.attempt, owner, seconds
        )

    def think(self, work_message: WorkMessage, worker_id: str | None = None) -> ThinkWork:
        work = claim_think(self.store, self.lease(work_message, worker_id))
        assert work is not None, f"the model call {work_message.task_id} could not be claimed"
        return work

    def start(self, **batch: object) -> tuple[str, WorkMessage]:
        """A batch of one run that is admitted: the run and its work message."""
        _, (run_id,) = self.submit(1, **batch)  # type: ignore[arg-type]
        (work_message,) = (work_message for work_message in self.admit().work_messages if work_message.run_id == run_id)
        return run_id, work_message

    def act(self, work_message: WorkMessage, calls: int = 1) -> tuple[WorkMessage, ...]:
        """The model asks for tools: their work messages."""
        work = self.think(work_message)
        new = (NewCall("calculator", {"expression": "1+1"}, "tools.local"),) * calls
        decision = decide_think(work.hot, Acted(new, "I add."), RunConfig())
        applied = apply_think(self.store, work.lease, decision, SPENT, RECORD)
        assert applied is not None
        return applied.work_messages

    def answer(self, work_message: WorkMessage) -> None:
        """The model answers, and the run ends."""
        work = self.think(work_message)
        decision = decide_think(work.hot, Answered("Four."), RunConfig())
        applied = apply_think(self.store, work.lease, decision, SPENT, RECORD)
        assert applied is not None and applied.ended

    def observe(self, lease: Lease, event: CallEvent | None = None) -> Applied | None:
        """A tool call ends."""
        what = event or CallFinished("2")
        seen = self._seen.get(lease.token)
        return apply_call(self.store, lease, lambda hot, view: decide_call(hot, view, what), Spent("ok"), seen)

    def hot_view(self, work_message: WorkMessage) -> Hot:
        return hot_of(self.hot(work_message.run_id))

    def pending(self, work_message: WorkMessage) -> WorkMessage:
        """The first tool call of a step, as a work message."""
        return WorkMessage(work_message.run_id, work_message.step, 1, 1, "tools.local", "calculator")

    def hot(self, run_id: str) -> AnyRow:
        with self.store.read() as tx:
            return tx.execute(select(active).where(active.c.run_id == run_id)).one()

    def run(self, run_id: str) -> AnyRow:
        with self.store.read() as tx:
            return tx.execute(select(runs).where(runs.c.id == run_id)).one()

    def batch(self, batch_id: str) -> AnyRow:
        with self.store.read() as tx:
            return tx.execute(select(batches).where(batches.c.id == batch_id)).one()

    def tool_call(self, work_message: WorkMessage) -> AnyRow:
        key = (
            tool_calls.c.run_id == work_message.run_id,
            tool_calls.c.step == work_message.step,
            tool_calls.c.call == work_message.call,
        )
        with self.store.read() as tx:
            return tx.execute(select(tool_calls).where(*key)).one()

    def attempt(self, lease: Lease) -> AnyRow:
        with self.store.read() as tx:
            return tx.execute(select(attempts).where(attempts.c.token == lease.token)).one()

    def worker(self, name: str = "another") -> str:
        return register(self.store, WorkerInfo(name, ["think", "tools.local"], "threads", 8))

    def call(self, work_message: WorkMessage, worker_id: str | None = None) -> CallWork:
        work = self.claim(self.lease(work_message, worker_id))
        assert work is not None, f"the tool call {work_message.task_id} could not be claimed"
        return work

    def claim(self, lease: Lease) -> CallWork | None:
        """Claims a tool call, and remembers what its claim saw, for `observe`."""
        work = claim_call(self.store, lease)
        if work is not None and work.seen is not None:
            self._seen[lease.token] = work.seen, work.view
        return work


@pytest.fixture
def world(store: Store) -> World:
    return world_on(store)


def world_on(store: Store) -> World:
    info = WorkerInfo("tests", ["think", "think.interactive", "tools.local"], "threads", 8)
    return World(store, register(store, info))


@pytest.fixture
def postgres_world(postgres_url: str) -> Iterator[World]:
    """For what only PostgreSQL can show."""
    store = open_store(postgres_url)
    yield World(store, register(store, WorkerInfo("tests", ["think", "tools.local"], "threads", 8)))
    store.dispose()
