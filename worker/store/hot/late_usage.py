"""Usage of single attempts that arrives late, because the attempt was fenced out."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Table, select, update

from worker.core.records import Usage
from worker.core.spending import Spent
from worker.core.states import ENDED, Outcome
from worker.store.hot.interface import Lease
from worker.store.locks import hold_lock
from worker.store.schema.tables import active, attempts, batches, endings, runs
from worker.store.session import NOW, AnyRow, Store


def note_waste(store: Store, lease: Lease, spent: Spent) -> None:
    """Writes a fenced-out attempt's own usage as waste, the only thing it may write. Safe to repeat.

    Known usage replaces the reserved bound in the sums of the run, and in those of its batch if the run is already
    settled there.
    """
    with store.write() as tx:
        run = _lock(store, tx, lease.run_id)
        row = tx.execute(select(attempts, NOW.label("now")).where(attempts.c.token == lease.token)).one_or_none()
        if row is None or row.outcome == Outcome.FENCED or (row.wasted and row.prompt_tokens + row.completion_tokens):
            return
        kept = row.reserved_usd if spent.billed and spent.usage is None else None
        added = {name: amount for name, amount in _late(row, spent, kept).items() if amount}
        if run is None:
            _add(tx, active, "run_id", lease.run_id, added)
        else:
            _add(tx, runs, "id", run.id, added)
            if run.state in ENDED and not _add(tx, endings, "run_id", run.id, added):
                _add(tx, batches, "id", run.batch_id, added)
        values = {**asdict(spent.usage or Usage()), "cost_usd": spent.cost_usd, "reserved_usd": kept}
        values |= {"wasted": True, "outcome": Outcome.FENCED.value, "ended_at": row.ended_at or row.now}
        tx.execute(update(attempts).where(attempts.c.token == lease.token).values(values))


def _lock(store: Store, tx: Connection, run_id: str) -> AnyRow | None:
    """Locks the run's hot row and returns None; without one, locks out the admitters and returns the cold row."""
    hot = select(active.c.run_id).where(active.c.run_id == run_id).with_for_update()
    if tx.execute(hot).first() is not None:
        return None
    hold_lock(store, tx)  # so that the run is not admitted, settled or requeued meanwhile
    if tx.execute(hot).first() is not None:
        return None
    cold = select(runs.c.id, runs.c.state, runs.c.batch_id).where(runs.c.id == run_id).with_for_update()
    return tx.execute(cold).one_or_none()


def _late(row: AnyRow, spent: Spent, kept: float | None) -> dict[str, Any]:
    """Returns what an attempt's late report adds to the sums, given what was counted when another worker ended it."""
    usage, cost = spent.usage or Usage(), spent.cost_usd or 0.0
    tokens = usage.prompt_tokens + usage.completion_tokens
    counted = row.reserved_usd if row.ended_at is not None else None
    unknown = spent.billed and spent.cost_usd is None and kept is None
    waste = {} if row.wasted else {"wasted_attempts": 1, "wasted_s": (row.ended_at or row.now) - row.claimed_at}
    return {
        **asdict(usage),
        "cost_usd": cost,
        "wasted_tokens": tokens,
        "wasted_cost_usd": cost,
        "reserved_usd": (kept or 0.0) - (counted or 0.0),
        "unpriced": int(unknown and not row.wasted),
        **waste,
    }


def _add(tx: Connection, table: Table, key: str, value: str, added: dict[str, Any]) -> bool:
    changed = {name: table.c[name] + amount for name, amount in added.items()} or {key: table.c[key]}
    return tx.execute(update(table).where(table.c[key] == value).values(changed)).rowcount == 1
