"""Picks the runs to admit next: after their batches' watermarks, in the stored order, as far as budgets allow."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlalchemy import Connection, and_, bindparam, func, literal, or_, select, update

from worker.core.fairness import split
from worker.core.states import BatchState, Klass, Phase, RunState
from worker.store.admission import budgets
from worker.store.admission.admission_order import SlotsTaken, load_order
from worker.store.schema.tables import active, batches, runs
from worker.store.session import NOW, AnyRow

WAITS_S = 1.0
"""A run that waits longer than this, in seconds (for a rate limit or a retry), gives up its slot meanwhile."""

WAITING = and_(active.c.phase == Phase.WAIT.value, active.c.parked.is_(None), active.c.due_at > NOW + WAITS_S)


def pick(
    tx: Connection, free: int, reserve_free: int, parked_bound: int, held: SlotsTaken, only: str | None = None
) -> tuple[list[AnyRow], budgets.Shares]:
    """Picks the next runs; returns their rows, and what those of batches with a budget may use.

    `only` restricts the choice to one batch.
    Writes virtual times, clocks and watermarks.
    """
    everything = tx.execute(OPEN).all()
    full = _at_bound(tx, parked_bound)
    eligible = [row for row in everything if may_admit(row) and row.id not in full and only in (None, row.id)]
    given = budgets.shares(tx, eligible, max(free, 0) + max(reserve_free, 0))
    eligible = [row for row in eligible if given.get(row.id, True)]
    most = {batch: len(affordable) for batch, affordable in given.items()}
    order = load_order(tx, everything, eligible, held, most)
    waiting = {k: sum(most.get(b.id, b.total - b.watermark) for b in eligible if b.klass == k) for k in Klass}
    n_interactive, n_batch = split(free, reserve_free, waiting[Klass.INTERACTIVE], waiting[Klass.BATCH], order.turn)
    chosen = order.choose(Klass.INTERACTIVE, n_interactive) + order.choose(Klass.BATCH, n_batch)
    picked, missing = _take(tx, chosen, {row.id: row for row in eligible})
    for batch, count in missing.items():
        order.refund(batch, count)
    order.save(tx, order.turn + max(0, min(free, n_interactive + n_batch)))
    return picked, given


_BATCH_COLUMNS = (
    batches.c.id, batches.c.owner_id, batches.c.klass, batches.c.weight, batches.c.vtime, batches.c.eligible,
    batches.c.paused_reason, batches.c.watermark, batches.c.total, batches.c.steps_per_run, batches.c.sealed,
    *budgets.BUDGET_COLUMNS,
)  # fmt: skip


OPEN = select(*_BATCH_COLUMNS).where(batches.c.state == BatchState.OPEN.value)


def may_admit(row: AnyRow) -> bool:
    return row.sealed and row.paused_reason is None and row.watermark < row.total


def _at_bound(tx: Connection, bound: int) -> set[str]:
    """Returns batches that may not begin more runs, because too many are parked for one reason or wait."""
    return set(tx.execute(_FULL, {"bound": bound}).scalars())


_FULL = (
    select(active.c.batch_id)
    .where(or_(active.c.parked.is_not(None), WAITING))
    .group_by(active.c.batch_id, active.c.parked, active.c.parked_target)
    .having(func.count() >= bindparam("bound"))
)


def _take(tx: Connection, chosen: list[str], rows: dict[str, AnyRow]) -> tuple[list[AnyRow], dict[str, int]]:
    """Returns the next queued runs of each chosen batch, after its watermark, and how many were missing.

    The rows are locked, so that a cancel of a single queued run either comes first or finds it active.
    """
    wanted = Counter(chosen)
    taken: dict[str, list[AnyRow]] = {}
    for batch, count in wanted.items():
        queued = (
            select(*_QUEUED_COLUMNS, literal(rows[batch].klass).label("klass"))
            .where(runs.c.batch_id == batch, runs.c.seq > rows[batch].watermark)
            .where(runs.c.state == RunState.QUEUED.value)
            .order_by(runs.c.seq)
            .limit(count)
            .with_for_update(of=runs)
        )
        taken[batch] = list(tx.execute(queued).all())
        if len(taken[batch]) == count:
            mark: Any = taken[batch][-1].seq
        else:  # some were cancelled in the queue, perhaps while this waited for their locks: find the next queued run
            ids = [run.id for run in taken[batch]]
            left = (runs.c.batch_id == batch, runs.c.seq > rows[batch].watermark, runs.c.id.not_in(ids))
            rest = select(func.min(runs.c.seq) - 1).where(*left, runs.c.state == RunState.QUEUED.value)
            mark = func.coalesce(rest.scalar_subquery(), batches.c.total)
        tx.execute(update(batches).where(batches.c.id == batch).values(watermark=mark))
    queues = {batch: iter(found) for batch, found in taken.items()}
    missing = {batch: count - len(taken[batch]) for batch, count in wanted.items() if count > len(taken[batch])}
    return [run for batch in chosen if (run := next(queues[batch], None)) is not None], missing


_QUEUED_COLUMNS = (
    runs.c.id, runs.c.batch_id, runs.c.seq, runs.c.steps, runs.c.attempts, runs.c.cost_usd, runs.c.reserved_usd,
)  # fmt: skip
