"""Submission: a batch is opened, filled in chunks while its lines stream in, and sealed. Until then none of it runs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from worker.core.records import JsonObject
from worker.core.states import Klass
from worker.store.session import NOW, Store, new_id
from worker.store.tables import batches, configurations, owners, runs

LOCAL_OWNER = "local"
"""Who owns what is submitted without a key of somebody's own."""


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


@dataclass(frozen=True, slots=True)
class NewRun:
    """One question, with its configuration stored already."""

    question: str
    config_hash: str
    custom_id: str | None = None
    metadata: JsonObject | None = None
    expected: str | None = None


class DuplicateCustomId(Exception):
    """Two lines of a batch carry the same `custom_id`."""

    def __init__(self, custom_id: str) -> None:
        super().__init__(custom_id)
        self.custom_id = custom_id


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
    """Adds a chunk of runs, numbered from `first_seq`; returns their ids. Raises `DuplicateCustomId`."""
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
            tx.execute(insert(runs).values(created_at=NOW), rows)
            tx.execute(update(batches).where(batches.c.id == batch_id).values(total=batches.c.total + len(rows)))
    except IntegrityError:
        raise DuplicateCustomId(_duplicate(store, batch_id, new)) from None
    return ids


def _duplicate(store: Store, batch_id: str, new: Sequence[NewRun]) -> str:
    """Which custom_id stands twice, in this chunk or in an earlier one."""
    seen: set[str] = set()
    for run in new:
        if run.custom_id is not None and run.custom_id in seen:
            return run.custom_id
        seen.add(run.custom_id or "")
    query = select(runs.c.custom_id).where(runs.c.batch_id == batch_id, runs.c.custom_id.in_(seen)).limit(1)
    with store.read() as tx:
        return str(tx.execute(query).scalar())


def seal(store: Store, batch_id: str) -> bool:
    """The batch is whole: its runs may be admitted. False: it was sealed or discarded before."""
    statement = update(batches).where(batches.c.id == batch_id, batches.c.sealed.is_(False))
    with store.write() as tx:
        return tx.execute(statement.values(sealed=True)).rowcount == 1


def discard(store: Store, batch_id: str) -> None:
    """Undoes a submission that was not sealed: nothing is left half done."""
    with store.write() as tx:
        if tx.execute(select(batches.c.sealed).where(batches.c.id == batch_id)).scalar() is False:
            tx.execute(delete(runs).where(runs.c.batch_id == batch_id))
            tx.execute(delete(batches).where(batches.c.id == batch_id))
