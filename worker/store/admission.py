"""The admitter: settles what has ended and fills the free slots of the hot set, fairly. One at a time, in bulk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    case,
    func,
    insert,
    literal,
    or_,
    select,
    text,
    update,
)

from worker.core.bells import Bell
from worker.core.fairness import DEFAULT_STEPS, split
from worker.core.states import (
    QUEUE_INTERACTIVE,
    QUEUE_THINK,
    BatchState,
    CallState,
    Klass,
    Phase,
    RunState,
    think_queue,
)
from worker.store import budgets
from worker.store.control import bells_for
from worker.store.order import Held, load_order
from worker.store.session import NOW, AnyRow, Store
from worker.store.settling import settle_endings
from worker.store.tables import SUMS, active, batches, configurations, runs, tool_calls, workers

_LOCK = 7_315_001  # any number, as long as nobody else in this database takes it

SLOTS_PER_THREAD = 4
"""Runs in motion for each live think slot, unless settings say otherwise: enough that tools never starve thinking."""


@dataclass(frozen=True, slots=True)
class Admission:
    """What one admission did."""

    bells: tuple[Bell, ...]
    settled: int


@dataclass(frozen=True, slots=True)
class Capacity:
    """The size of the hot set. `hot_set` 0 follows the live think workers."""

    hot_set: int = 0
    reserve: int = 16
    parked_per_batch: int = 100


def admit(store: Store, capacity: Capacity) -> Admission:
    """One short transaction under a lock that all admitters share: settle, un-park, admit."""
    with store.write() as tx:
        hold_lock(store, tx)
        settled = settle_endings(tx)
        held = tx.execute(_HELD).all()
        free, reserve_free = _free_slots(tx, capacity, held)
        ready = _unpark(tx, max(free, 0))
        slots = {row.batch_id: row.slots for row in held}
        picked, given = _pick(tx, free - len(ready), reserve_free, capacity.parked_per_batch, slots)
        begun = _activate(tx, picked)
        budgets.give(tx, picked, given)
        return Admission((*ready, *begun), settled)


def hold_lock(store: Store, tx: Connection) -> None:
    """Waits for the lock of all admitters and keeps it until the transaction ends; SQLite has one writer anyway."""
    if store.postgres:
        tx.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))


WAITS_S = 1.0
"""A run whose next moment is further away than this (a rate limit, a retry) leaves its slot to others meanwhile."""

_WAITING = and_(active.c.phase == Phase.WAIT.value, active.c.parked.is_(None), active.c.due_at > NOW + WAITS_S)

_HELD = (
    select(active.c.batch_id, active.c.klass, func.count().label("slots"))
    .where(active.c.parked.is_(None), ~_WAITING)
    .group_by(active.c.batch_id, active.c.klass)
)


def _free_slots(tx: Connection, capacity: Capacity, held: Sequence[AnyRow]) -> tuple[int, int]:
    interactive = sum(row.slots for row in held if row.klass == Klass.INTERACTIVE)
    beyond_reserve = max(0, interactive - capacity.reserve)
    taken = sum(row.slots for row in held) - interactive
    return _hot_set(tx, capacity) - taken - beyond_reserve, capacity.reserve - interactive


def _hot_set(tx: Connection, capacity: Capacity) -> int:
    if capacity.hot_set:
        return capacity.hot_set
    live = tx.execute(_LIVE)
    threads: int = sum(slots for slots, queues in live if think_queue(Klass.BATCH) in (queues or []))
    return max(64, SLOTS_PER_THREAD * threads)


_LIVE = select(workers.c.slots, workers.c.queues).where(workers.c.state == "up")


def _unpark(tx: Connection, slots: int) -> list[Bell]:
    """Runs whose reason to be parked has passed take slots ahead of new ones, and no more than there are."""
    ids = list(tx.execute(_READY, {"slots": slots}).scalars())
    if not ids:
        return []
    # Its time limit stood still meanwhile; what waits for a moment of its own is rung for then.
    values = {"deadline_at": active.c.deadline_at + (NOW - active.c.parked_at), "sent_at": _now_or(active.c.due_at)}
    unparked = update(active).where(active.c.run_id.in_(ids))
    tx.execute(unparked.values(parked=None, parked_at=None, wait_reason=None, **values))
    pending = (tool_calls.c.run_id.in_(ids), tool_calls.c.state == CallState.PENDING.value)
    tx.execute(update(tool_calls).where(*pending).values(sent_at=_now_or(tool_calls.c.due_at)))
    return bells_for(tx, ids)


# A probe of a paused model first: the others wait for its outcome.
_READY = (
    select(active.c.run_id)
    .where(or_(active.c.parked == "probe", active.c.parked == "ready"))
    .order_by(active.c.parked, active.c.parked_at)
    .limit(bindparam("slots"))
    .with_for_update(skip_locked=True)
)


def _now_or(due_at: ColumnElement[float]) -> ColumnElement[float]:
    return case((due_at > NOW, due_at), else_=NOW)


def _pick(
    tx: Connection, free: int, reserve_free: int, parked_bound: int, held: Held
) -> tuple[list[AnyRow], budgets.Shares]:
    """Chooses whose runs come next; returns their rows, and what those of batches with a budget may use.

    Moves virtual times, clocks and watermarks.
    """
    everything = tx.execute(_OPEN).all()
    full = _at_bound(tx, parked_bound)
    eligible = [row for row in everything if _may_admit(row) and row.id not in full]
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


_OPEN = select(*_BATCH_COLUMNS).where(batches.c.state == BatchState.OPEN.value)


def _may_admit(row: AnyRow) -> bool:
    return row.sealed and row.paused_reason is None and row.watermark < row.total


def _at_bound(tx: Connection, bound: int) -> set[str]:
    """Batches of which so many runs are parked for one reason, or wait, that no more of them may begin."""
    return set(tx.execute(_FULL, {"bound": bound}).scalars())


_FULL = (
    select(active.c.batch_id)
    .where(or_(active.c.parked.is_not(None), _WAITING))
    .group_by(active.c.batch_id, active.c.parked)
    .having(func.count() >= bindparam("bound"))
)


def _take(tx: Connection, chosen: list[str], rows: dict[str, AnyRow]) -> tuple[list[AnyRow], dict[str, int]]:
    """The next queued runs of each chosen batch, read behind its watermark, and how many were not there.

    The rows are locked: a cancel of a single queued run either comes first or finds it in motion.
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
        else:  # some were cancelled in the queue, perhaps while this waited for their locks: see where the rest begins
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


def _activate(tx: Connection, picked: list[AnyRow]) -> list[Bell]:
    """Makes hot rows of queued ones. A run that is tried again goes on after its last whole step."""
    if not picked:
        return []
    ids = [row.id for row in picked]
    queued = (runs.c.id.in_(ids), runs.c.state == RunState.QUEUED.value)
    source = select(*_HOT_FROM_COLD.values()).join(batches, batches.c.id == runs.c.batch_id)
    source = source.join(configurations, configurations.c.hash == runs.c.config_hash).where(*queued)
    tx.execute(insert(active).from_select(list(_HOT_FROM_COLD), source))
    started = func.coalesce(runs.c.started_at, NOW)
    tx.execute(update(runs).where(*queued).values(state=RunState.ACTIVE.value, started_at=started))
    return [Bell(r.id, r.steps + 1, 0, r.attempts + 1, think_queue(r.klass)) for r in picked]


_HOT_FROM_COLD = {
    "run_id": runs.c.id, "batch_id": runs.c.batch_id, "owner_id": runs.c.owner_id, "klass": batches.c.klass,
    "config_hash": runs.c.config_hash, "phase": literal(Phase.THINK.value), "step": runs.c.steps + 1,
    "attempt": runs.c.attempts + 1, "event": runs.c.event, "paused": runs.c.paused,
    "queue": case((batches.c.klass == Klass.INTERACTIVE.value, QUEUE_INTERACTIVE), else_=QUEUE_THINK),
    "due_at": NOW, "sent_at": NOW, "admitted_at": NOW, "deadline_at": NOW + configurations.c.time_limit_s,
    "call_limit_s": configurations.c.call_time_limit_s,
    "charged": func.coalesce(func.nullif(batches.c.steps_per_run, 0.0), DEFAULT_STEPS),
    **{name: runs.c[name] for name in SUMS},
}  # fmt: skip
