"""Reading the fleet: workers, how many serve each queue, and how long its work has waited."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import and_, func, select

from worker.core.states import CallState, Phase, WorkerState
from worker.store.schema.tables import active, batches, tool_calls, workers
from worker.store.session import NOW, AnyRow, Store

ALIVE = (WorkerState.UP.value, WorkerState.DRAINING.value)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Due and unclaimed work of one queue."""

    queue: str
    count: int
    oldest_age_s: float


def list_workers(store: Store, everybody: bool = False) -> Sequence[AnyRow]:
    """Returns workers, newest first; ended ones only with `everybody`."""
    query = select(workers).order_by(workers.c.started_at.desc()).limit(1_000)
    if not everybody:
        query = query.where(workers.c.state.in_(ALIVE))
    with store.read() as tx:
        return tx.execute(query).all()


def serving(store: Store) -> dict[str, int]:
    """Returns for each queue how many live workers consume it."""
    counts: dict[str, int] = defaultdict(int)
    for row in list_workers(store):
        if row.state == WorkerState.UP:
            for queue in row.queues or ():
                counts[queue] += 1
    return counts


def tools_of_workers(store: Store) -> set[str]:
    """Returns the tools that live workers have loaded."""
    return {name for row in list_workers(store) for name in row.tools or ()}


def waiting_by_queue(store: Store) -> dict[str, Waiting]:
    """Returns for each queue how much due work is unclaimed and how old the oldest is."""
    moving = and_(active.c.parked.is_(None), active.c.paused.is_(False), batches.c.paused_reason.is_(None))
    thinking = (
        select(active.c.queue, func.count().label("n"), (NOW - func.min(active.c.due_at)).label("age"))
        .join(batches, batches.c.id == active.c.batch_id)
        .where(moving, active.c.phase != Phase.ACT.value, active.c.token.is_(None), active.c.due_at <= NOW)
        .group_by(active.c.queue)
    )
    acting = (
        select(tool_calls.c.queue, func.count().label("n"), (NOW - func.min(tool_calls.c.due_at)).label("age"))
        .select_from(active)
        .join(batches, batches.c.id == active.c.batch_id)
        .join(tool_calls, and_(tool_calls.c.run_id == active.c.run_id, tool_calls.c.step == active.c.step))
        .where(moving, active.c.phase == Phase.ACT.value, tool_calls.c.due_at <= NOW)
        .where(tool_calls.c.state == CallState.PENDING.value)
        .group_by(tool_calls.c.queue)
    )
    with store.read() as tx:
        rows = [*tx.execute(thinking).all(), *tx.execute(acting).all()]
    return {row.queue: Waiting(row.queue, row.n, max(0.0, row.age)) for row in rows}
