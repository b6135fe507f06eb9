"""The admitter: settles endings and fills the free slots of the hot set fairly, in bulk, one admitter at a time."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import (
    ColumnElement,
    Connection,
    bindparam,
    case,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)

from worker.core.fairness import DEFAULT_STEPS
from worker.core.states import (
    QUEUE_INTERACTIVE,
    QUEUE_THINK,
    CallState,
    Klass,
    Parked,
    Phase,
    RunState,
    think_queue,
)
from worker.core.work_messages import WorkMessage
from worker.store.admission import budgets
from worker.store.admission.admission_order import SlotsTaken
from worker.store.admission.picking import OPEN, WAITING, may_admit, pick
from worker.store.admission.settling import settle_endings
from worker.store.control.stopping import pause_batch
from worker.store.errors import NOT_OF_A_ROW, short
from worker.store.hot.due_messages import work_messages_for
from worker.store.hot.parked import parked_for
from worker.store.locks import hold_lock
from worker.store.schema.tables import SUMS, active, batches, configurations, runs, tool_calls, workers
from worker.store.session import NOW, AnyRow, Store

log = logging.getLogger(__name__)


SLOTS_PER_THREAD = 4
"""Active runs per live think slot by default: enough that runs waiting for tools leave no think slot idle."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The result of one admission: messages to send, and how many endings were settled."""

    work_messages: tuple[WorkMessage, ...]
    settled: int


@dataclass(frozen=True, slots=True)
class Capacity:
    """The size of the hot set, in runs. With `hot_set` 0 it follows the live think workers."""

    hot_set: int = 0
    reserve: int = 16
    parked_per_batch: int = 100


def admit(store: Store, capacity: Capacity) -> Admission:
    """Settles, un-parks and admits in one short transaction under the lock that all admitters share.

    A batch whose runs cannot be admitted is paused with the reason `fault`, so that it does not block the others.
    """
    try:
        return _admit(store, capacity)
    except NOT_OF_A_ROW:
        raise
    except Exception:
        if not _set_aside_faulty(store, capacity):
            raise
        return _admit(store, capacity)


def _admit(store: Store, capacity: Capacity) -> Admission:
    with store.write() as tx:
        hold_lock(store, tx)
        settled = settle_endings(tx)
        held = tx.execute(_HELD).all()
        free, reserve_free = _free_slots(tx, capacity, held)
        ready = _unpark(tx, max(free, 0))
        slots = {row.batch_id: row.slots for row in held}
        begun = _fill(tx, free - len(ready), reserve_free, capacity.parked_per_batch, slots)
        return Admission((*ready, *begun), settled)


def _fill(
    tx: Connection, free: int, reserve_free: int, bound: int, held: SlotsTaken, only: str | None = None
) -> list[WorkMessage]:
    picked, given = pick(tx, free, reserve_free, bound, held, only)
    begun = _activate(tx, picked)
    budgets.give(tx, picked, given)
    return begun


def _set_aside_faulty(store: Store, capacity: Capacity) -> list[str]:
    """Rehearses admitting one run of each open batch; pauses the batches for which it fails and returns their ids."""
    with store.read() as tx:
        waiting = [row.id for row in tx.execute(OPEN).all() if may_admit(row)]
    faulty = []
    for batch_id in waiting:
        try:
            _rehearse(store, capacity, batch_id)
        except NOT_OF_A_ROW:
            raise
        except Exception as error:
            log.error("Batch %s cannot be admitted and is set aside: %s", batch_id, short(error))
            pause_batch(store, batch_id, "fault", "stepmill")
            faulty.append(batch_id)
    return faulty


def _rehearse(store: Store, capacity: Capacity, batch_id: str) -> None:
    """Admits one run of a batch and rolls that back."""
    with store.write() as tx:
        hold_lock(store, tx)
        with tx.begin_nested() as rehearsal:
            _fill(tx, 1, 1, capacity.parked_per_batch, {}, batch_id)
            rehearsal.rollback()


_HELD = (
    select(active.c.batch_id, active.c.klass, func.count().label("slots"))
    .where(active.c.parked.is_(None), ~WAITING)
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


def _unpark(tx: Connection, slots: int) -> list[WorkMessage]:
    """Unparks up to `slots` runs whose reason to be parked has passed; they go ahead of new ones."""
    ids = list(tx.execute(_READY, {"slots": slots}).scalars())
    if not ids:
        return []
    # Parked time does not count towards the time limit; work due later gets its message at its due time.
    values = {"deadline_at": active.c.deadline_at + (NOW - active.c.parked_at), "sent_at": _now_or(active.c.due_at)}
    unparked = update(active).where(active.c.run_id.in_(ids))
    tx.execute(unparked.values(parked=None, parked_target=None, parked_at=None, wait_reason=None, **values))
    pending = (tool_calls.c.run_id.in_(ids), tool_calls.c.state == CallState.PENDING.value)
    tx.execute(update(tool_calls).where(*pending).values(sent_at=_now_or(tool_calls.c.due_at)))
    return work_messages_for(tx, ids)


# Probes of paused models go first, since other runs wait for their outcome.
_READY = (
    select(active.c.run_id)
    .where(or_(parked_for(Parked.PROBE), parked_for(Parked.READY)))
    .order_by(active.c.parked, active.c.parked_at)
    .limit(bindparam("slots"))
    .with_for_update(skip_locked=True)
)


def _now_or(due_at: ColumnElement[float]) -> ColumnElement[float]:
    return case((due_at > NOW, due_at), else_=NOW)


def _activate(tx: Connection, picked: list[AnyRow]) -> list[WorkMessage]:
    """Inserts hot rows for queued runs. A retried run continues after its last complete step."""
    if not picked:
        return []
    ids = [row.id for row in picked]
    queued = (runs.c.id.in_(ids), runs.c.state == RunState.QUEUED.value)
    source = select(*_HOT_FROM_COLD.values()).join(batches, batches.c.id == runs.c.batch_id)
    source = source.join(configurations, configurations.c.hash == runs.c.config_hash).where(*queued)
    tx.execute(insert(active).from_select(list(_HOT_FROM_COLD), source))
    started = func.coalesce(runs.c.started_at, NOW)
    tx.execute(update(runs).where(*queued).values(state=RunState.ACTIVE.value, started_at=started))
    return [WorkMessage(r.id, r.steps + 1, 0, r.attempts + 1, think_queue(r.klass)) for r in picked]


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
