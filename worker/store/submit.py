"""Submission: a batch is opened, filled in chunks while its lines stream in, and sealed. Until then none of it runs."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import delete, func, insert, select, text, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from worker.core.fairness import MAX_WEIGHT, MIN_WEIGHT
from worker.core.records import JsonObject
from worker.core.states import BatchState, Klass
from worker.store.bulk import insert_runs
from worker.store.session import NOW, Store, new_id
from worker.store.tables import batches, configurations, owners, runs

LOCAL_OWNER = "local"
"""Who owns what is submitted without a key of somebody's own."""

DISCARDED_AT_ONCE = 5_000
"""Runs that one transaction of a discard deletes."""

MANY = 5_000
"""Runs of a batch from which on PostgreSQL's statistics are brought up to date at once."""


@dataclass(frozen=True, slots=True)
class NewBatch:
    """A batch as it is submitted. The same `submission_key` of the same owner names the same batch."""

    owner_id: str = LOCAL_OWNER
    name: str = ""
    klass: Klass = Klass.BATCH
    weight: float = 1.0
    submission_key: str | None = None
    max_failures: int | None = None
    max_failures_percent: float | None = None
    options: JsonObject = field(default_factory=dict)
    budget_usd: float | None = None
    """What all its runs together may cost; the price of every model must be known."""

    def __post_init__(self) -> None:
        if not MIN_WEIGHT <= self.weight <= MAX_WEIGHT:
            raise ValueError(f"weight is {self.weight}: it must be from {MIN_WEIGHT} to {MAX_WEIGHT:g}")


@dataclass(frozen=True, slots=True)
class NewRun:
    """One question, with its configuration stored already."""

    question: str
    config_hash: str
    custom_id: str | None = None
    metadata: JsonObject | None = None
    expected: str | None = None


class DuplicateCustomId(Exception):
    """Lines of a chunk repeat a `custom_id`: of one in `stored`, or of another line of the chunk. None was taken."""

    def __init__(self, stored: Sequence[str], repeated: Sequence[str]) -> None:
        super().__init__(", ".join((*stored, *repeated)))
        self.stored = frozenset(stored)


class SubmissionGone(Exception):
    """The batch was discarded while it was being filled: the same submission arrived once more."""


def ensure_owner(store: Store, owner_id: str = LOCAL_OWNER, weight: float = 1.0) -> None:
    """Makes an owner known; harmless to repeat."""
    row = {"id": owner_id, "name": owner_id, "weight": weight, "created_at": NOW}
    with store.write() as tx:
        tx.execute(_upsert(store)(owners).values(**row).on_conflict_do_nothing())


def _upsert(store: Store) -> Any:
    return postgresql.insert if store.postgres else sqlite.insert


def put_configuration(store: Store, body: JsonObject) -> str:
    """Stores a configuration once, under its hash, and returns that."""
    digest = hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()[:24]
    row = {"hash": digest, "body": body, "time_limit_s": body.get("time_limit_s")}
    row["call_time_limit_s"] = body.get("call_time_limit_s", 300.0)
    with store.write() as tx:
        tx.execute(_upsert(store)(configurations).values(**row).on_conflict_do_nothing())
    return digest


def get_configuration(store: Store, digest: str) -> JsonObject:
    """A stored configuration; `LookupError` for an unknown hash."""
    with store.read() as tx:
        body = tx.execute(select(configurations.c.body).where(configurations.c.hash == digest)).scalar()
    if body is None:
        raise LookupError(f"There is no configuration {digest}.")
    return dict(body)


def open_batch(store: Store, new: NewBatch) -> tuple[str, bool]:
    """Opens a batch and returns its id and whether it is new. A half-submitted one of the same key is replaced."""
    ensure_owner(store, new.owner_id)
    for _ in range(3):
        existing = _find(store, new)
        if existing is not None and existing[1]:
            return existing[0], False
        if existing is not None:
            discard(store, existing[0])
        batch_id = new_id("batch")
        try:
            with store.write() as tx:
                tx.execute(
                    insert(batches).values(
                        id=batch_id, owner_id=new.owner_id, name=new.name, klass=new.klass.value, weight=new.weight,
                        submission_key=new.submission_key, max_failures=new.max_failures,
                        max_failures_percent=new.max_failures_percent, options=new.options, created_at=NOW,
                        budget_usd=new.budget_usd,
                    )
                )  # fmt: skip
            return batch_id, True
        except IntegrityError:
            continue  # the same submission arrived twice at once: look again
    raise RuntimeError("The same batch is being submitted again and again at this moment.")


def _find(store: Store, new: NewBatch) -> tuple[str, bool] | None:
    if new.submission_key is None:
        return None
    query = select(batches.c.id, batches.c.sealed).where(
        batches.c.owner_id == new.owner_id, batches.c.submission_key == new.submission_key
    )
    with store.read() as tx:
        row = tx.execute(query).one_or_none()
    return (row.id, row.sealed) if row else None


def add_runs(store: Store, batch_id: str, owner_id: str, first_seq: int, new: Sequence[NewRun]) -> list[str]:
    """Adds a chunk of runs, numbered from `first_seq` without gaps; returns their ids.

    Raises `DuplicateCustomId` (of this chunk nothing was taken) or `SubmissionGone`.
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
            now = tx.execute(counted.values(total=batches.c.total + len(rows)).returning(NOW)).scalar()
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


def seal(store: Store, batch_id: str, options: JsonObject | None = None, first_call_usd: float = 0.0) -> bool:
    """The batch is whole: its runs may be admitted. False: it was sealed or discarded before.

    `first_call_usd` bounds the first model call of any of its runs, for a batch with a budget.
    """
    statement = update(batches).where(batches.c.id == batch_id, *_FILLING)
    values: JsonObject = {"sealed": True, "first_call_usd": first_call_usd}
    if options is not None:
        values["options"] = options
    with store.write() as tx:
        total = tx.execute(statement.values(values).returning(batches.c.total)).scalar()
        if store.postgres and total is not None and total >= MANY:
            # Until the planner knows of so many new rows, it would sort them all to find a batch's next ones.
            tx.execute(text("ANALYZE runs"))
    return total is not None


def discard(store: Store, batch_id: str) -> None:
    """Undoes a submission that was not sealed: nothing is left half done. Safe to repeat."""
    # Marked first, so that whoever is still filling it stops; then emptied in short transactions.
    gone = {"state": BatchState.CANCELLED.value, "submission_key": None, "total": 0}
    with store.write() as tx:
        unsealed = update(batches).where(batches.c.id == batch_id, batches.c.sealed.is_(False))
        if tx.execute(unsealed.values(gone)).rowcount != 1:
            return
    with store.read() as tx:
        last = tx.execute(select(func.max(runs.c.seq)).where(runs.c.batch_id == batch_id)).scalar() or 0
    # By number, so that no statement has to step over what the ones before it deleted.
    for first in range(1, last + 1, DISCARDED_AT_ONCE):
        some = runs.c.seq.between(first, first + DISCARDED_AT_ONCE - 1)
        with store.write() as tx:
            tx.execute(delete(runs).where(runs.c.batch_id == batch_id, some))
    with store.write() as tx:
        tx.execute(delete(batches).where(batches.c.id == batch_id))


def discard_abandoned(store: Store, older_than_s: float) -> int:
    """Clears away submissions whose sender, or whose API process, was lost on the way; returns how many."""
    query = select(batches.c.id).where(batches.c.sealed.is_(False), batches.c.created_at < NOW - older_than_s)
    with store.read() as tx:
        ids = list(tx.execute(query).scalars())
    for batch_id in ids:
        discard(store, batch_id)
    return len(ids)
