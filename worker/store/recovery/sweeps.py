"""What the sweeper looks for in the hot table: overdue runs, paused runs to park, and unanswered messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, case, delete, exists, func, literal, or_, select, update

from worker.core.errors import ErrorCode
from worker.core.moves import End
from worker.core.spending import Sums
from worker.core.states import (
    QUEUE_INTERACTIVE,
    QUEUE_THINK,
    BatchState,
    CallState,
    Klass,
    Parked,
    Phase,
    RunState,
    think_queue,
)
from worker.core.work_messages import WorkMessage
from worker.store.control.stopping import Stopped
from worker.store.hot.endings import end_run, stop_attempts
from worker.store.hot.parked import READY, parked_for
from worker.store.schema.tables import active, batches, endpoints, tool_calls
from worker.store.session import NOW, Store

CHUNK = 500


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A message sent a while ago whose work is still unclaimed. It need not be lost: it may wait in a backlog."""

    message: WorkMessage
    sent_at: float


def unanswered(store: Store, older_than_s: float) -> list[Unanswered]:
    """Returns unclaimed work whose message was sent more than `older_than_s` ago."""
    stale = NOW - older_than_s
    thinking = (
        select(active.c.run_id, active.c.step, active.c.attempt, active.c.klass, active.c.quarantined, active.c.sent_at)
        .join(batches, batches.c.id == active.c.batch_id)
        .where(active.c.phase != Phase.ACT.value, active.c.token.is_(None), active.c.parked.is_(None))
        .where(active.c.paused.is_(False), *_GOING_ON, active.c.sent_at < stale)
        .order_by(active.c.sent_at)
        .limit(CHUNK)
    )
    acting = (
        select(
            tool_calls.c.run_id, tool_calls.c.step, tool_calls.c.call, tool_calls.c.attempt, tool_calls.c.queue,
            tool_calls.c.tool, tool_calls.c.sent_at,
        )
        .select_from(active)
        .join(batches, batches.c.id == active.c.batch_id)
        .join(tool_calls, and_(tool_calls.c.run_id == active.c.run_id, tool_calls.c.step == active.c.step))
        .where(active.c.parked.is_(None))
        .where(active.c.phase == Phase.ACT.value, active.c.paused.is_(False), *_GOING_ON)
        .where(tool_calls.c.state == CallState.PENDING.value, tool_calls.c.held.is_(None), tool_calls.c.sent_at < stale)
        .order_by(tool_calls.c.sent_at)
        .limit(CHUNK)
    )  # fmt: skip
    with store.read() as tx:
        found = [
            Unanswered(WorkMessage(r.run_id, r.step, 0, r.attempt, think_queue(r.klass, r.quarantined)), r.sent_at)
            for r in tx.execute(thinking).all()
        ]
        found += [
            Unanswered(WorkMessage(r.run_id, r.step, r.call, r.attempt, r.queue, r.tool), r.sent_at)
            for r in tx.execute(acting).all()
        ]
    return found


_GOING_ON = (batches.c.state == BatchState.OPEN.value, batches.c.paused_reason.is_(None))


def claimed_up_to(store: Store) -> dict[str, float]:
    """Returns for each queue when the latest message that led to a claim was sent, as far as the hot set shows."""
    hot_queue = case(
        (active.c.klass == Klass.INTERACTIVE.value, literal(QUEUE_INTERACTIVE)), else_=literal(QUEUE_THINK)
    )
    thinking = select(hot_queue.label("queue"), func.max(active.c.claimed_sent_at).label("at")).group_by(hot_queue)
    acting = (
        select(tool_calls.c.queue, func.max(tool_calls.c.claimed_sent_at).label("at"))
        .select_from(active)
        .join(tool_calls, and_(tool_calls.c.run_id == active.c.run_id, tool_calls.c.step >= active.c.step - 1))
        .group_by(tool_calls.c.queue)
    )
    latest: dict[str, float] = {}
    with store.read() as tx:
        for row in [*tx.execute(thinking).all(), *tx.execute(acting).all()]:
            if row.at is not None:
                latest[row.queue] = max(row.at, latest.get(row.queue, row.at))
    return latest


def lost(waiting: list[Unanswered], lengths: Mapping[str, int], claimed: Mapping[str, float]) -> list[Unanswered]:
    """Returns the messages that are lost: their queue is empty, or one sent later on it has been claimed. Pure."""
    return [
        w
        for w in waiting
        if lengths.get(w.message.queue, 1) == 0 or claimed.get(w.message.queue, float("-inf")) > w.sent_at
    ]


def mark_sent_again(store: Store, message: WorkMessage, seen_sent_at: float) -> bool:
    """Marks a message as sent again if its work is unchanged since it was seen. False: it was claimed or re-sent."""
    if message.call:
        statement = update(tool_calls).where(
            tool_calls.c.run_id == message.run_id, tool_calls.c.step == message.step, tool_calls.c.call == message.call,
            tool_calls.c.attempt == message.attempt, tool_calls.c.state == CallState.PENDING.value,
            tool_calls.c.sent_at == seen_sent_at,
        )  # fmt: skip
    else:
        statement = update(active).where(
            active.c.run_id == message.run_id, active.c.step == message.step, active.c.attempt == message.attempt,
            active.c.token.is_(None), active.c.phase != Phase.ACT.value, active.c.sent_at == seen_sent_at,
        )  # fmt: skip
    with store.write() as tx:
        return tx.execute(statement.values(sent_at=NOW)).rowcount == 1


def end_overdue(store: Store) -> Stopped:
    """Fails runs past their time limit with `deadline` and keeps their partial answers. Parked time does not count."""
    overdue = select(active.c.run_id).where(active.c.deadline_at < NOW, active.c.parked.is_(None))
    with store.write() as tx:
        # Locked rows are left for the next sweep; locking in order avoids deadlocks.
        some = overdue.order_by(active.c.run_id).limit(CHUNK).with_for_update(skip_locked=True)
        chosen = list(tx.execute(some).scalars())
        rows = tx.execute(delete(active).where(active.c.run_id.in_(chosen)).returning(*active.c)).all()
        reserved = stop_attempts(tx, chosen)
        for row in rows:
            message = "The run reached its time limit before it had an answer."
            end = End(RunState.FAILED, ErrorCode.DEADLINE, message, partial=row.last_words)
            added = Sums(reserved_usd=reserved.get(row.run_id, 0.0))
            end_run(tx, row, end, added, row.event + 1, row.step if row.phase == Phase.ACT else row.step - 1)
        ids = tuple(row.run_id for row in rows)
    return Stopped(ids, ids)


def park_paused(store: Store) -> int:
    """Parks paused runs, which frees their slots, and marks resumed ones as ready. Returns how many changed."""
    stopped = select(batches.c.id).where(batches.c.paused_reason.is_not(None))
    running = exists().where(
        tool_calls.c.run_id == active.c.run_id,
        tool_calls.c.step == active.c.step,
        tool_calls.c.state == CallState.RUNNING.value,
    )
    idle = and_(active.c.token.is_(None), ~running)
    halted = or_(active.c.paused.is_(True), active.c.batch_id.in_(stopped))
    # A run paused again before it got a slot is parked again, since the first time: its clock never ran in between.
    to_park = and_(or_(active.c.parked.is_(None), parked_for(Parked.READY)), idle, halted)
    since = case((parked_for(Parked.READY), active.c.parked_at), else_=NOW)
    resumed = and_(parked_for(Parked.PAUSED), active.c.paused.is_(False), active.c.batch_id.not_in(stopped))
    # Also free runs parked for a model just after it was reopened: nothing else would unpark them.
    closed = exists().where(endpoints.c.paused_reason.is_not(None), endpoints.c.id == active.c.parked_target)
    to_free = or_(resumed, and_(parked_for(Parked.MODEL), ~closed))
    with store.write() as tx:
        parked = _mark(tx, to_park, {"parked": Parked.PAUSED.value, "parked_at": since})
        return parked + _mark(tx, to_free, READY)


def _mark(tx: Connection, which: ColumnElement[bool], values: Mapping[str, Any]) -> int:
    """Updates the unlocked rows among these; locked ones are left for the next sweep. In order, to avoid deadlocks."""
    query = select(active.c.run_id).where(which).order_by(active.c.run_id).with_for_update(skip_locked=True)
    chosen = list(tx.execute(query).scalars())
    if chosen:
        tx.execute(update(active).where(active.c.run_id.in_(chosen)).values(**values))
    return len(chosen)
