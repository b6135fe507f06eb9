"""Submission: a batch is opened, filled in chunks as its lines stream in, and sealed. No run starts before that."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, delete, func, insert, select, text, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from worker.core.fairness import MAX_WEIGHT, MIN_WEIGHT
from worker.core.records import JsonObject
from worker.core.states import BatchState, Klass
from worker.store.admission.bulk import insert_runs
from worker.store.schema.tables import batches, owners, runs
from worker.store.session import NOW, AnyRow, Store, new_id

LOCAL_OWNER = "local"
"""The owner of what is submitted without an owner's key."""

DISCARDED_AT_ONCE = 5_000
"""Runs that a discard deletes per transaction."""

BEAT_S = 5.0
"""Seconds between signs of life while a batch with a submission key is being filled."""
LEFT_S = 30.0
"""Seconds without a sign of life after which a submission counts as abandoned and its key is free."""
WAIT_S = 60.0
"""Seconds that a repeated submission waits for the first one to be stored."""
LOOK_S = 0.2

MANY = 5_000
"""Batches with at least this many runs update PostgreSQL's statistics at once."""


@dataclass(frozen=True, slots=True)
class NewBatch:
    """A batch to submit. The same owner and `submission_key` always name the same batch."""

    owner_id: str = LOCAL_OWNER
    name: str = ""
    klass: Klass = Klass.BATCH
    weight: float = 1.0
    submission_key: str | None = None
    max_failures: int | None = None
    max_failures_percent: float | None = None
    options: JsonObject = field(default_factory=dict)
    budget_usd: float | None = None
    """The most that all runs together may cost; the price of every model must be known."""

    def __post_init__(self) -> None:
        if not MIN_WEIGHT <= self.weight <= MAX_WEIGHT:
            raise ValueError(f"weight is {self.weight}: it must be from {MIN_WEIGHT} to {MAX_WEIGHT:g}")


@dataclass(frozen=True, slots=True)
class NewRun:
    """One question whose configuration is already stored."""

    question: str
    config_hash: str
    custom_id: str | None = None
    metadata: JsonObject | None = None
    expected: str | None = None


class DuplicateCustomId(Exception):
    """A chunk repeats a `custom_id`, either a `stored` one or one of its own. Nothing of the chunk was stored."""

    def __init__(self, stored: Sequence[str], repeated: Sequence[str]) -> None:
        super().__init__(", ".join((*stored, *repeated)))
        self.stored = frozenset(stored)


class SubmissionGone(Exception):
    """The batch was discarded while it was being filled: it had shown no sign of life and was submitted again."""


class SubmissionBusy(Exception):
    """The same submission is still being stored by another process."""


def ensure_owner(store: Store, owner_id: str = LOCAL_OWNER, weight: float = 1.0) -> None:
    """Creates an owner if there is none of this id. A repeat only reads, so that it does not block writers."""
    with store.read() as tx:
        if tx.execute(select(owners.c.id).where(owners.c.id == owner_id)).scalar() is not None:
            return
    row = {"id": owner_id, "name": owner_id, "weight": weight, "created_at": NOW}
    with store.write() as tx:
        tx.execute(_upsert(store)(owners).values(**row).on_conflict_do_nothing())


def _upsert(store: Store) -> Any:
    return postgresql.insert if store.postgres else sqlite.insert


def open_batch(store: Store, new: NewBatch, wait_s: float = WAIT_S) -> tuple[str, bool]:
    """Opens a batch; returns its id and whether it is new.

    If another process is storing the same submission, waits for it and returns its batch; an abandoned one is
    replaced. Raises `SubmissionBusy` after `wait_s` seconds.
    """
    ensure_owner(store, new.owner_id)
    deadline = time.monotonic() + wait_s
    while True:
        existing = _find(store, new)
        if existing is not None and existing.sealed:
            return existing.id, False
        if existing is None:
            if (batch_id := _insert_batch(store, new)) is not None:
                return batch_id, True
        elif existing.left:
            discard(store, existing.id, _LEFT)
        elif time.monotonic() > deadline:
            raise SubmissionBusy(str(new.submission_key))
        else:
            time.sleep(LOOK_S)


def _insert_batch(store: Store, new: NewBatch) -> str | None:
    """Inserts the batch and returns its id. None: the same submission has just been opened elsewhere."""
    batch_id = new_id("batch")
    row = {
        "id": batch_id, "owner_id": new.owner_id, "name": new.name, "klass": new.klass.value, "weight": new.weight,
        "submission_key": new.submission_key, "max_failures": new.max_failures,
        "max_failures_percent": new.max_failures_percent, "options": new.options, "created_at": NOW,
        "filled_at": NOW, "budget_usd": new.budget_usd,
    }  # fmt: skip
    try:
        with store.write() as tx:
            tx.execute(insert(batches).values(row))
        return batch_id
    except IntegrityError:
        return None


_LAST_SIGN = func.coalesce(batches.c.filled_at, batches.c.created_at)
_LEFT = NOW - _LAST_SIGN > LEFT_S


def _find(store: Store, new: NewBatch) -> AnyRow | None:
    if new.submission_key is None:
        return None
    query = select(batches.c.id, batches.c.sealed, _LEFT.label("left")).where(
        batches.c.owner_id == new.owner_id, batches.c.submission_key == new.submission_key
    )
    with store.read() as tx:
        return tx.execute(query).one_or_none()


def still_filling(store: Store, batch_id: str) -> None:
    """Records a sign of life of the process that fills a batch; after `LEFT_S` without one the key is free again."""
    with store.write() as tx:
        tx.execute(update(batches).where(batches.c.id == batch_id, *_FILLING).values(filled_at=NOW))


def fingerprint_of(store: Store, batch_id: str) -> str | None:
    """Returns the fingerprint of a submission's content and options. None: it was stored by version 0.1.0."""
    with store.read() as tx:
        return tx.execute(select(batches.c.fingerprint).where(batches.c.id == batch_id)).scalar()


def add_runs(store: Store, batch_id: str, owner_id: str, first_seq: int, new: Sequence[NewRun]) -> list[str]:
    """Adds a chunk of runs, numbered from `first_seq` without gaps; returns their ids.

    Raises `DuplicateCustomId` (nothing of this chunk was stored) or `SubmissionGone`.
    """
    ids = [new_id("run") for _ in new]
    rows = [
        {
            "id": run_id, "batch_id": batch_id, "owner_id": owner_id, "seq": first_seq + n, "custom_id": run.custom_id,
            "question": run.question, "config_hash": run.config_hash, "metadata": run.metadata,
            "expected": run.expected,
        }
        for n, (run_id, run) in enumerate(zip(ids, new, strict=True))
    ]  # fmt: skip
    try:
        with store.write() as tx:
            counted = update(batches).where(batches.c.id == batch_id, *_FILLING)
            now = tx.execute(counted.values(total=batches.c.total + len(rows), filled_at=NOW).returning(NOW)).scalar()
            if now is None:
                raise SubmissionGone(batch_id)
            insert_runs(tx, [row | {"created_at": now} for row in rows])
    except IntegrityError:
        raise _duplicates(store, batch_id, new) from None
    return ids


_FILLING = (batches.c.sealed.is_(False), batches.c.state == BatchState.OPEN.value)


def _duplicates(store: Store, batch_id: str, new: Sequence[NewRun]) -> DuplicateCustomId:
    counts = Counter(run.custom_id for run in new if run.custom_id is not None)
    query = select(runs.c.custom_id).where(runs.c.batch_id == batch_id, runs.c.custom_id.in_(list(counts)))
    with store.read() as tx:
        stored = [str(name) for name in tx.execute(query).scalars()]
    return DuplicateCustomId(stored, [name for name, count in counts.items() if count > 1])


def seal(
    store: Store, batch_id: str, options: JsonObject | None = None, first_call_usd: float = 0.0,
    fingerprint: str | None = None,
) -> bool:  # fmt: skip
    """Marks the batch as complete, so that its runs may be admitted. False: it was already sealed or discarded.

    For a batch with a budget, `first_call_usd` bounds the first model call of any of its runs. `fingerprint`
    identifies a different body under the same submission key.
    """
    statement = update(batches).where(batches.c.id == batch_id, *_FILLING)
    values: JsonObject = {"sealed": True, "first_call_usd": first_call_usd, "fingerprint": fingerprint}
    if options is not None:
        values["options"] = options
    with store.write() as tx:
        total = tx.execute(statement.values(values).returning(batches.c.total)).scalar()
        if store.postgres and total is not None and total >= MANY:
            # Until the planner knows of the new rows, it would sort all of them to find a batch's next ones.
            tx.execute(text("ANALYZE runs"))
    return total is not None


def discard(store: Store, batch_id: str, *still: ColumnElement[bool]) -> None:
    """Deletes an unsealed submission if the conditions `still` hold. Safe to repeat."""
    # Marked first, so that a process still filling it stops; then deleted in short transactions.
    gone = {"state": BatchState.CANCELLED.value, "submission_key": None, "total": 0}
    with store.write() as tx:
        unsealed = update(batches).where(batches.c.id == batch_id, batches.c.sealed.is_(False), *still)
        if tx.execute(unsealed.values(gone)).rowcount != 1:
            return
    with store.read() as tx:
        last = tx.execute(select(func.max(runs.c.seq)).where(runs.c.batch_id == batch_id)).scalar() or 0
    # By number, so that no statement has to skip rows that earlier ones deleted.
    for first in range(1, last + 1, DISCARDED_AT_ONCE):
        some = runs.c.seq.between(first, first + DISCARDED_AT_ONCE - 1)
        with store.write() as tx:
            tx.execute(delete(runs).where(runs.c.batch_id == batch_id, some))
    with store.write() as tx:
        tx.execute(delete(batches).where(batches.c.id == batch_id))


def discard_abandoned(store: Store, older_than_s: float) -> int:
    """Deletes submissions whose sender or API process was lost; returns how many."""
    query = select(batches.c.id).where(batches.c.sealed.is_(False), older_than_s < NOW - _LAST_SIGN)
    with store.read() as tx:
        ids = list(tx.execute(query).scalars())
    for batch_id in ids:
        discard(store, batch_id)
    return len(ids)
