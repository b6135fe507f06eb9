"""Reading batches with their current counts of ended, active and waiting runs, in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Select, Subquery, bindparam, case, func, select

from worker.core.errors import ErrorCode
from worker.core.states import RunState
from worker.store.schema.tables import SUMS, active, batches, endings, runs
from worker.store.session import NOW, AnyRow, Store

ENDED_STATES = ("succeeded", "failed", "cancelled")


def get_batch(store: Store, batch_id: str) -> AnyRow | None:
    """Returns one batch with its counts and sums, or None."""
    with store.read() as tx:
        return tx.execute(_one_batch(), {"batch": batch_id}).one_or_none()


def list_batches(
    store: Store, limit: int, before: str | None = None, state: str | None = None, paused: bool | None = None,
    name: str | None = None,
) -> Sequence[AnyRow]:  # fmt: skip
    """Returns sealed batches older than the id `before`, newest first."""
    query = _batches().where(batches.c.sealed).order_by(batches.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(batches.c.id < before)
    if state is not None:
        query = query.where(batches.c.state == state)
    if paused is not None:
        flag = batches.c.paused_reason.is_not(None) if paused else batches.c.paused_reason.is_(None)
        query = query.where(flag)
    if name is not None:
        query = query.where(batches.c.name == name)
    with store.read() as tx:
        return tx.execute(query).all()


@cache
def _one_batch() -> Select[*tuple[Any, ...]]:
    return _batches().where(batches.c.id == bindparam("batch"))


@cache
def _batches() -> Select[*tuple[Any, ...]]:
    """Selects batches with what their unsettled endings and active runs add.

    Cached, because building this statement takes ten times as long as running it.
    """
    ended, hot = _unsettled(), _in_motion()
    kept = [column for column in batches.c if column.name not in (*SUMS, *ENDED_STATES, "steps")]
    counted = [(batches.c[name] + func.coalesce(ended.c[name], 0)).label(name) for name in (*ENDED_STATES, "steps")]
    sums = [
        (batches.c[name] + func.coalesce(ended.c[name], 0) + func.coalesce(hot.c[name], 0)).label(name) for name in SUMS
    ]
    source = batches.outerjoin(ended, ended.c.batch_id == batches.c.id).outerjoin(hot, hot.c.batch_id == batches.c.id)
    in_motion = func.coalesce(hot.c.runs, 0).label("active")
    hot_steps = func.coalesce(hot.c.steps, 0).label("active_steps")
    return select(*kept, *counted, *sums, in_motion, hot_steps, NOW.label("now")).select_from(source)


def _unsettled() -> Subquery:
    states = [func.sum(case((endings.c.state == name, 1), else_=0)).label(name) for name in ENDED_STATES]
    sums = [func.sum(endings.c[name]).label(name) for name in ("steps", *SUMS)]
    return select(endings.c.batch_id, *states, *sums).group_by(endings.c.batch_id).subquery("ended")


def _in_motion() -> Subquery:
    sums = [func.sum(active.c[name]).label(name) for name in SUMS]
    counted = (func.count().label("runs"), func.sum(active.c.step - 1).label("steps"))
    return select(active.c.batch_id, *counted, *sums).group_by(active.c.batch_id).subquery("hot")


def error_counts(store: Store, batch_id: str) -> dict[str, int]:
    """Returns how many runs failed with each code."""
    query = (
        select(runs.c.error_code, func.count())
        .where(runs.c.batch_id == batch_id, runs.c.state == RunState.FAILED.value)
        .group_by(runs.c.error_code)
    )
    with store.read() as tx:
        return {row[0] or ErrorCode.INTERNAL.value: row[1] for row in tx.execute(query).all()}


def requeued_sums(store: Store, batch_id: str) -> dict[str, Any]:
    """Sums what runs queued for a retry have used; the batch's own sums leave it out until they end again."""
    sums = [func.coalesce(func.sum(runs.c[name]), 0).label(name) for name in ("steps", *SUMS)]
    waiting = (runs.c.batch_id == batch_id, runs.c.state == RunState.QUEUED.value, runs.c.attempts > 0)
    with store.read() as tx:
        return dict(tx.execute(select(*sums).where(*waiting)).one()._mapping)
