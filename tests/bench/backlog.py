"""Large backlogs, created inside PostgreSQL, and the rows that the engine's statements visit with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import text

from tests.bench.rows_visited import Visited, visited_by
from worker.core.config import RunConfig
from worker.core.work_messages import WorkMessage
from worker.store.admission.admit import Capacity, admit
from worker.store.admission.submit import LOCAL_OWNER, NewBatch, open_batch, seal
from worker.store.configurations import put_configuration
from worker.store.hot.interface import Lease
from worker.store.hot.writes import claim_think
from worker.store.queries.common import list_batches
from worker.store.queries.runs import Filter, page_of_all, page_of_batch
from worker.store.recovery import sweeps, takeover
from worker.store.recovery.liveness import WorkerInfo, beats, register
from worker.store.session import Store, new_token

ADMITTED = 40
PAGE = 51
_FILL = """
INSERT INTO runs (id, batch_id, owner_id, seq, question, config_hash)
SELECT :batch || '-' || n, :batch, :owner, n, 'What is 1 + 1?', :config FROM generate_series(1, :count) AS n
"""


def fill(store: Store, count: int) -> str:
    """A sealed batch of so many queued runs."""
    config = put_configuration(store, RunConfig(name="assistant"))
    batch_id, _ = open_batch(store, NewBatch())
    values = {"batch": batch_id, "owner": LOCAL_OWNER, "config": config, "count": count}
    with store.write() as tx:
        tx.execute(text(_FILL), values)
        tx.execute(text("UPDATE batches SET total = :count WHERE id = :batch"), values)
    seal(store, batch_id)
    return batch_id


def churn(store: Store, count: int) -> None:
    """Admits so many runs and lets them succeed at once: what is left are dead rows."""
    admit(store, Capacity(hot_set=count))
    with store.write() as tx:
        tx.execute(text("UPDATE runs SET state = 'succeeded', finished_at = 1 WHERE state = 'active'"))
        tx.execute(text("DELETE FROM active"))
        tx.execute(text("DELETE FROM attempts"))


@contextmanager
def old_snapshot(url: str) -> Iterator[None]:
    """Somebody's long read: nothing that dies from now on can be cleared away."""
    with psycopg.connect(url) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("SELECT count(*) FROM batches")
        yield


def visits(store: Store, batch_id: str) -> dict[str, Visited]:
    """What each kind of work visits; admits `ADMITTED` runs and clears them away again."""
    work_messages: list[WorkMessage] = []
    worker = register(store, WorkerInfo("bench", ["think"], "threads", 8))

    def admission() -> None:
        work_messages.extend(admit(store, Capacity(hot_set=ADMITTED)).work_messages)

    def claim() -> None:
        work_message = work_messages[0]
        lease = Lease(new_token(), work_message.run_id, work_message.step, 0, work_message.attempt, worker, 20.0)
        assert claim_think(store, lease) is not None

    works: dict[str, Callable[[], Any]] = {
        f"admission of {ADMITTED} runs": admission,
        "claim of a model call": claim,
        "sweep": lambda: _sweep(store),
        "a batch's first page of runs": lambda: page_of_batch(store, Filter(batch_id=batch_id), 0, PAGE),
        "a batch's page in its middle": lambda: page_of_batch(store, Filter(batch_id=batch_id), 500, PAGE),
        "the newest runs of all batches": lambda: page_of_all(store, Filter(), None, PAGE),
        "the list of batches": lambda: list_batches(store, PAGE),
    }
    found = {name: visited_by(store, work) for name, work in works.items()}
    assert len(work_messages) == ADMITTED
    churn(store, 0)
    return found


def _sweep(store: Store) -> None:
    """The reading part of each step of a sweeper's tick."""
    beats(store)
    takeover.abandoned(store)
    sweeps.end_overdue(store)
    sweeps.park_paused(store)
    sweeps.unanswered(store, 0.0)
    sweeps.claimed_up_to(store)
