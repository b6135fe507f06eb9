"""Parks runs whose open calls wait for a tool group without workers or for a person, so that others get their slots."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import ColumnElement, and_, case, exists, func, or_, select, update

from worker.core.states import CallState, Parked, Phase, WorkerState
from worker.store.hot.parked import READY, parked_for
from worker.store.schema.tables import active, tool_calls, workers
from worker.store.session import NOW, Store

CHUNK = 500

HELD = {
    "approval": "A person must approve the call first: `stepmill run approve`",
    "answer": "A person must answer first: `stepmill run answer`",
}


def served_queues(store: Store) -> set[str]:
    """Returns the queues that live workers consume."""
    with store.read() as tx:
        live = tx.execute(select(workers.c.queues).where(workers.c.state == WorkerState.UP.value)).scalars()
        return {queue for queues in live for queue in queues or []}


def park_unserved(store: Store, served: Iterable[str], after_s: float) -> int:
    """Parks runs all of whose open calls have waited `after_s` for a person or unserved groups. Returns how many."""
    running, served_one = tool_calls.c.state == CallState.RUNNING.value, tool_calls.c.queue.in_(list(served))
    moves_on = and_(tool_calls.c.held.is_(None), or_(running, served_one))
    useful = case((moves_on, 1), else_=0)
    stranded = (
        select(active.c.run_id, func.min(_waits_for).label("queue"))
        .join(tool_calls, and_(tool_calls.c.run_id == active.c.run_id, tool_calls.c.step == active.c.step))
        .where(active.c.phase == Phase.ACT.value, active.c.parked.is_(None))
        .where(tool_calls.c.state != CallState.DONE.value)
        .group_by(active.c.run_id)
        .having(func.sum(useful) == 0, func.max(tool_calls.c.due_at) < NOW - after_s)
        .order_by(active.c.run_id)
        .limit(CHUNK)
    )
    with store.read() as tx:
        rows = tx.execute(stranded).all()
    by_queue: dict[str, list[str]] = {}
    for row in rows:
        by_queue.setdefault(row.queue, []).append(row.run_id)
    return sum(_park(store, queue, ids, moves_on) for queue, ids in by_queue.items())


# What a held call needs from a person, otherwise its queue.
_waits_for = func.coalesce(tool_calls.c.held, tool_calls.c.queue)


def _park(store: Store, queue: str, run_ids: list[str], moves_on: ColumnElement[bool]) -> int:
    kind = Parked.PERSON if queue in HELD else Parked.GROUP
    reason = HELD.get(queue) or f"No worker serves {queue}; start one with `stepmill worker --queues {queue}`"
    still = (active.c.phase == Phase.ACT.value, active.c.parked.is_(None), active.c.run_id.in_(run_ids))
    chosen = select(active.c.run_id).where(*still).order_by(active.c.run_id).with_for_update(skip_locked=True)
    values = {"parked": kind.value, "parked_target": queue, "parked_at": NOW, "wait_reason": reason}
    with store.write() as tx:
        ids = list(tx.execute(chosen).scalars())
        # Checked again under the lock: a call may have been approved since, and nothing would unpark its run.
        mine = (tool_calls.c.run_id == active.c.run_id, tool_calls.c.step == active.c.step)
        stranded = ~exists().where(*mine, tool_calls.c.state != CallState.DONE.value, moves_on)
        return tx.execute(update(active).where(active.c.run_id.in_(ids), stranded).values(**values)).rowcount


def free_served(store: Store, served: Iterable[str]) -> int:
    """Marks runs parked for these groups as ready; the admitter starts only as many as there are slots."""
    awaited = and_(parked_for(Parked.GROUP), active.c.parked_target.in_(list(served)))
    with store.write() as tx:
        chosen = select(active.c.run_id).where(awaited).order_by(active.c.run_id)
        ids = list(tx.execute(chosen.with_for_update(skip_locked=True)).scalars())
        if ids:
            tx.execute(update(active).where(active.c.run_id.in_(ids)).values(**READY))
        return len(ids)
