"""Retries ended runs: requeues them to continue after their last complete step, or from the beginning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, case, delete, exists, func, literal, null, select, update
from sqlalchemy.sql import ColumnElement

from worker.core.errors import ErrorCode
from worker.core.states import BatchState, CallState, Outcome, RunState
from worker.store.admission.settling import settle_endings
from worker.store.locks import hold_lock
from worker.store.schema.tables import SUMS, attempts, batches, endings, runs, steps, tool_calls
from worker.store.session import NOW, Store

CHUNK = 1_000
CANCELLED = "cancelled"
"""Used among the error codes to select cancelled runs."""

BEGIN_ANEW = (ErrorCode.MAX_STEPS, ErrorCode.TOOL_LOOP, ErrorCode.MALFORMED_REPLIES, ErrorCode.CONTEXT_OVERFLOW)
"""Errors caused by the conversation itself: continuing it would fail in the same way."""

NO_RESULT = "This call gave no result: the run was stopped before it ended. Ask for it again if it is still needed."
UNKNOWN = "It is not known whether this call took effect: the run was stopped while it was carried out."


class StillStopping(Exception):
    """The batch was cancelled and some of its runs have not ended yet."""


def retry_run(store: Store, run_id: str) -> bool:
    """Requeues one run. False: it has not ended, or it succeeded. Raises `StillStopping`."""
    with store.read() as tx:
        batch_id = tx.execute(select(runs.c.batch_id).where(runs.c.id == run_id)).scalar()
    if batch_id is None:
        return False
    _check(store, batch_id)
    return _requeue(store, batch_id, [run_id]) == 1


def retry_batch(store: Store, batch_id: str, codes: Sequence[str] = ()) -> int:
    """Requeues the failed runs, or those that ended with one of the codes; returns how many. Raises `StillStopping`.

    Uses one short transaction per chunk; interrupting and repeating it is harmless.
    """
    _check(store, batch_id)
    retried, after = 0, 0
    while True:
        query = select(runs.c.id, runs.c.seq).where(runs.c.batch_id == batch_id, runs.c.seq > after, _ended_with(codes))
        with store.read() as tx:
            rows = tx.execute(query.order_by(runs.c.seq).limit(CHUNK)).all()
        if not rows:
            return retried
        retried += _requeue(store, batch_id, [row.id for row in rows])
        after = rows[-1].seq


def _ended_with(codes: Sequence[str]) -> ColumnElement[bool]:
    failed = runs.c.state == RunState.FAILED.value
    if not codes:
        return failed
    wanted = failed & runs.c.error_code.in_(codes)
    return wanted | (runs.c.state == RunState.CANCELLED.value) if CANCELLED in codes else wanted


def _check(store: Store, batch_id: str) -> None:
    query = select(batches.c.id).where(
        batches.c.id == batch_id, batches.c.state == BatchState.CANCELLED.value, batches.c.finished_at.is_(None)
    )
    with store.read() as tx:
        if tx.execute(query).first() is not None:
            raise StillStopping(batch_id)


def _requeue(store: Store, batch_id: str, ids: Sequence[str]) -> int:
    unsettled = exists().where(endings.c.run_id == runs.c.id)  # set aside: its batch has not counted it yet
    ended = runs.c.state.in_([RunState.FAILED.value, RunState.CANCELLED.value])
    which = runs.c.id.in_(ids) & ended & ~unsettled
    with store.write() as tx:
        hold_lock(store, tx)
        # These runs' endings are settled first, so that they can be subtracted from the counters below.
        while settle_endings(tx):
            continue
        taken_back = tx.execute(_counted(which)).one()
        if not taken_back.total:
            return 0
        _reopen(tx, batch_id, taken_back)
        _finish_calls(tx, select(runs.c.id).where(which))
        _begin_anew(tx, select(runs.c.id).where(which, runs.c.error_code.in_(BEGIN_ANEW)))
        tx.execute(update(runs).where(which).values(_QUEUED))
        return int(taken_back.total)


_QUEUED: dict[str, Any] = {
    "state": RunState.QUEUED.value, "error_code": null(), "error_message": null(), "answer": null(),
    "partial_answer": null(), "finished_at": null(), "stop_asked_at": null(), "stopped_at": null(), "paused": False,
    "event": runs.c.event + 1,
}  # fmt: skip


def _counted(which: ColumnElement[bool]) -> Any:
    def counted(state: RunState) -> ColumnElement[int]:
        return func.coalesce(func.sum(case((runs.c.state == state.value, 1), else_=0)), 0).label(state.value)

    sums = [func.coalesce(func.sum(runs.c[name]), 0).label(name) for name in ("steps", *SUMS)]
    first = func.min(runs.c.seq).label("first")
    return select(
        func.count().label("total"), first, counted(RunState.FAILED), counted(RunState.CANCELLED), *sums
    ).where(which)


def _reopen(tx: Connection, batch_id: str, taken_back: Any) -> None:
    """Reopens the batch and subtracts these runs from its counters; they are added again when they end."""
    options = tx.execute(select(batches.c.options).where(batches.c.id == batch_id)).scalar() or {}
    less = {name: batches.c[name] - getattr(taken_back, name) for name in ("failed", "cancelled", "steps", *SUMS)}
    mark = case((batches.c.watermark >= taken_back.first, taken_back.first - 1), else_=batches.c.watermark)
    carried = batches.c.carried_usd + taken_back.cost_usd + taken_back.reserved_usd
    tx.execute(
        update(batches)
        .where(batches.c.id == batch_id)
        .values(
            **less, carried_usd=carried, watermark=mark, state=BatchState.OPEN.value, finished_at=None,
            cancel_asked_at=None, options={**options, "retried": True},
        )
    )  # fmt: skip


def _finish_calls(tx: Connection, ids: Any) -> None:
    """Completes the last step: calls without a result get an observation that says so and are not executed again."""
    unfinished = (tool_calls.c.run_id.in_(ids), tool_calls.c.state != CallState.DONE.value)
    number = select(runs.c.event + 1).where(runs.c.id == tool_calls.c.run_id).scalar_subquery()
    said = case((tool_calls.c.started_at.is_not(None), literal(UNKNOWN)), else_=literal(NO_RESULT))
    tx.execute(
        update(tool_calls)
        .where(*unfinished)
        .values(
            state=CallState.DONE.value, outcome=Outcome.STOPPED.value, observation=said, event=number, token=None,
            worker_id=None, lease_until=None, finished_at=NOW,
        )
    )  # fmt: skip


def _begin_anew(tx: Connection, which: Any) -> None:
    """Deletes the steps of these runs and counts what they used as waste."""
    ids = list(tx.execute(which).scalars())
    if not ids:
        return
    useful = (attempts.c.wasted.is_(False), attempts.c.outcome != Outcome.DEFERRED.value)
    sums = {
        "wasted_tokens": attempts.c.prompt_tokens + attempts.c.completion_tokens,
        "wasted_cost_usd": attempts.c.cost_usd,
        "wasted_s": attempts.c.ended_at - attempts.c.claimed_at,
        "wasted_attempts": literal(1),
    }
    added = {
        name: runs.c[name]
        + select(func.coalesce(func.sum(what), 0)).where(attempts.c.run_id == runs.c.id, *useful).scalar_subquery()
        for name, what in sums.items()
    }
    tx.execute(update(runs).where(runs.c.id.in_(ids)).values(steps=0, **added))
    tx.execute(update(attempts).where(attempts.c.run_id.in_(ids), *useful).values(wasted=True))
    tx.execute(delete(steps).where(steps.c.run_id.in_(ids)))
    tx.execute(delete(tool_calls).where(tool_calls.c.run_id.in_(ids)))
