"""Cancel, pause and resume of runs and batches. A batch's flag takes effect at once; its rows follow in chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, delete, insert, select, true, update
from sqlalchemy.sql import ColumnElement

from worker.core.moves import End
from worker.core.spending import Sums
from worker.core.states import BatchState, Phase, RunState
from worker.store.hot.endings import end_run, stop_attempts
from worker.store.schema.tables import SUMS, active, batches, endings, runs
from worker.store.session import NOW, Store

CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class Stopped:
    """The runs that were ended, and those of them whose attempts in flight must be aborted."""

    run_ids: tuple[str, ...]
    aborted: tuple[str, ...] = ()


def cancel_run(store: Store, run_id: str) -> Stopped | None:
    """Ends a run at once, whatever it is doing. None: it had already ended."""
    with store.write() as tx:
        for _ in range(2):  # twice: if it is admitted between the two statements, the second round finds its hot row
            if _end_active(tx, select(active.c.run_id).where(active.c.run_id == run_id), "cancelled by request"):
                return Stopped((run_id,), (run_id,))
            if _end_queued(tx, select(runs.c.id).where(runs.c.id == run_id)):
                return Stopped((run_id,))
        return None


def cancel_batch(store: Store, batch_id: str) -> bool:
    """Sets the flag that every claim and admission respects. False: the batch had already ended.

    The caller then ends its runs with `cancel_chunk`; the sweeper repeats that until none is left.
    """
    statement = (
        update(batches)
        .where(batches.c.id == batch_id, batches.c.state == BatchState.OPEN.value)
        .values(state=BatchState.CANCELLED.value, cancel_asked_at=NOW, sealed=True)
    )
    with store.write() as tx:
        return tx.execute(statement).rowcount == 1


def cancel_chunk(store: Store, batch_id: str, limit: int = CHUNK) -> Stopped:
    """Ends up to `limit` runs of a cancelled batch, active ones first."""
    with store.write() as tx:
        some = select(active.c.run_id).where(active.c.batch_id == batch_id).order_by(active.c.run_id).limit(limit)
        in_motion = _end_active(tx, some, "its batch was cancelled")
        rest = limit - len(in_motion)
        queued = (
            select(runs.c.id)
            .where(runs.c.batch_id == batch_id, runs.c.state == RunState.QUEUED.value)
            .order_by(runs.c.seq)
            .limit(rest)
        )
        waiting = _end_queued(tx, queued) if rest > 0 else ()
        return Stopped((*in_motion, *waiting), in_motion)


def unfinished_cancels(store: Store) -> list[str]:
    """Returns the cancelled batches that still have runs to end."""
    query = select(batches.c.id).where(
        batches.c.state == BatchState.CANCELLED.value, batches.c.finished_at.is_(None), batches.c.total > 0
    )
    with store.read() as tx:
        return list(tx.execute(query).scalars())


def _end_active(tx: Connection, which: Select[*tuple[Any, ...]], why: str) -> tuple[str, ...]:
    # Rows are locked in the order of `which` before they are deleted, so that concurrent cancels do not deadlock.
    locked = list(tx.execute(which.with_for_update()).scalars())
    if not locked:
        return ()
    rows = tx.execute(delete(active).where(active.c.run_id.in_(locked)).returning(*active.c)).all()
    reserved = stop_attempts(tx, locked)
    for row in rows:
        steps = row.step if row.phase == Phase.ACT else row.step - 1
        end = End(RunState.CANCELLED, message=f"The run was stopped: {why}.", partial=row.last_words)
        end_run(tx, row, end, Sums(reserved_usd=reserved.get(row.run_id, 0.0)), row.event + 1, steps)
    ids = tuple(row.run_id for row in rows)
    if ids:
        tx.execute(update(runs).where(runs.c.id.in_(ids)).values(stop_asked_at=NOW))
    return ids


def _end_queued(tx: Connection, which: Select[*tuple[Any, ...]]) -> tuple[str, ...]:
    locked = list(tx.execute(which.where(runs.c.state == RunState.QUEUED.value).with_for_update()).scalars())
    if not locked:
        return ()
    ended = (
        update(runs)
        .where(runs.c.id.in_(locked), runs.c.state == RunState.QUEUED.value)
        .values(state=RunState.CANCELLED.value, finished_at=NOW, event=runs.c.event + 1)
        .returning(runs.c.id, runs.c.batch_id, runs.c.owner_id, *(runs.c[name] for name in SUMS))
    )
    rows = tx.execute(ended).all()
    if rows:
        values = [
            {"run_id": r.id, "batch_id": r.batch_id, "owner_id": r.owner_id, "state": "cancelled", "charged": 0.0}
            # Zeros, unless the run was requeued for a retry.
            | {name: getattr(r, name) for name in SUMS}
            for r in rows
        ]
        tx.execute(insert(endings), values)
    return tuple(row.id for row in rows)


def note_stopped(store: Store, run_id: str) -> None:
    """Records that an attempt of a cancelled run has stopped; the last one shows how long stopping took."""
    with store.write() as tx:
        stopped = update(runs).where(runs.c.id == run_id, runs.c.stop_asked_at.is_not(None)).values(stopped_at=NOW)
        tx.execute(stopped)


def pause_batch(store: Store, batch_id: str, reason: str = "hand", by: str | None = None) -> bool:
    """Pauses a batch: no further step starts, work in flight may finish. False: it is not open, or already paused."""
    statement = (
        update(batches)
        .where(batches.c.id == batch_id, batches.c.state == BatchState.OPEN.value, batches.c.paused_reason.is_(None))
        .values(paused_reason=reason, paused_by=by)
    )
    with store.write() as tx:
        return tx.execute(statement).rowcount == 1


def resume_batch(store: Store, batch_id: str, budget_usd: float | None = None) -> bool:
    """Resumes a batch; its parked runs take slots as they come free. False: it was not paused.

    `budget_usd` replaces the budget of a batch that has one, paused or not.
    """
    raised = update(batches).where(batches.c.id == batch_id, batches.c.budget_usd.is_not(None))
    statement = (
        update(batches)
        .where(batches.c.id == batch_id, batches.c.paused_reason.is_not(None))
        .values(paused_reason=None, paused_by=None, max_failures=None, max_failures_percent=None)
    )
    with store.write() as tx:
        if budget_usd is not None:
            tx.execute(raised.values(budget_usd=budget_usd))
        return tx.execute(statement).rowcount == 1


def pause_run(store: Store, run_id: str) -> bool:
    """Pauses a run: no further step starts. False: it has ended, or is already paused."""
    moving = runs.c.state.in_([RunState.QUEUED.value, RunState.ACTIVE.value])
    return _flag(store, run_id, True, moving)


def resume_run(store: Store, run_id: str) -> bool:
    """Resumes a run, which takes a slot when one is free. False: it was not paused."""
    return _flag(store, run_id, False, true())


def _flag(store: Store, run_id: str, paused: bool, which: ColumnElement[bool]) -> bool:
    """Sets the flag on the hot and the cold row. False: it was already set so, or the run is not among `which`."""
    cold = update(runs).where(runs.c.id == run_id, runs.c.paused.is_(not paused), which).values(paused=paused)
    while True:
        with store.write() as tx:
            hot = tx.execute(update(active).where(active.c.run_id == run_id).values(paused=paused)).rowcount
            state = tx.execute(cold.returning(runs.c.state)).scalar()
            # If the run was admitted with its old flag while this waited for the cold row, repeat.
            if hot or state != RunState.ACTIVE:
                return state is not None
            tx.rollback()
