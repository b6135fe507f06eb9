"""The statements that begin a piece of work: guards, leases and attempts, each written once for both databases."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BindParameter, Select, Table, bindparam, case, exists, insert, null, or_, select, update
from sqlalchemy.sql import ColumnElement

from worker.core.states import BatchState, CallState, Phase, WorkerState
from worker.store.hot.parameters import HOT_COLUMNS, KEY, THIS_ATTEMPT, THIS_CALL, THIS_STEP
from worker.store.schema.tables import active, attempts, batches, tool_calls, workers
from worker.store.session import NOW

EARLY_S = 0.05
"""Seconds by which a message may come before its due time, since timers and clocks are not exact."""

LEASE_S: BindParameter[float] = bindparam("lease_s")
KEY_BATCH: BindParameter[str] = bindparam("key_batch")

_IN_TIME = or_(active.c.deadline_at.is_(None), active.c.deadline_at > NOW)

BATCH_OPEN = batches.c.state == BatchState.OPEN.value
BATCH_GOING = (BATCH_OPEN, batches.c.paused_reason.is_(None))
WORKER_UP = (workers.c.id == bindparam("key_worker"), workers.c.state == WorkerState.UP.value)
"""True for a live worker that is not draining."""


def _first_sent(table: Table) -> ColumnElement[float | None]:
    """Returns when a message was sent, as evidence of its queue's progress; null if it was sent more than once.

    It is unknown which of two messages led to the claim; assuming the later one would make a whole backlog look lost.
    """
    return case((table.c.sent_at - table.c.due_at > 0.25, null()), else_=table.c.sent_at)


# ---- a model call ----

DUE_TO_THINK = (
    *THIS_STEP,
    active.c.attempt == bindparam("key_attempt"),
    or_(active.c.phase == Phase.THINK.value, active.c.phase == Phase.WAIT.value),
    active.c.token.is_(None),
    active.c.due_at <= NOW + EARLY_S,
    active.c.paused.is_(False),
    active.c.parked.is_(None),
    _IN_TIME,
)

LEASE_THINK = (
    update(active)
    .values(
        phase=Phase.THINK.value,
        token=bindparam("key_token"),
        worker_id=bindparam("key_worker"),
        lease_until=NOW + active.c.call_limit_s + LEASE_S,
        # Work that ran in quarantine says nothing about the progress of the usual queue.
        claimed_sent_at=case((active.c.quarantined.is_(True), null()), else_=_first_sent(active)),
        wait_reason=null(),
    )
    .returning(
        *HOT_COLUMNS, active.c.batch_id, active.c.klass, active.c.config_hash, active.c.queue, active.c.call_limit_s
    )
)
CLAIM_THINK = LEASE_THINK.where(*DUE_TO_THINK)

# ---- a tool call ----

STARTING = select(active.c.batch_id, active.c.config_hash).where(
    *THIS_STEP, active.c.phase == Phase.ACT.value, _IN_TIME
)
"""Ignores pauses, so that claimed work may finish."""
ACTING = STARTING.where(active.c.paused.is_(False), active.c.parked.is_(None))
LOCK_TO_START, LOCK_TO_CLAIM = STARTING.with_for_update(), ACTING.with_for_update()

CLAIM_CALL = (
    update(tool_calls)
    .where(
        *THIS_CALL,
        tool_calls.c.attempt == bindparam("key_attempt"),
        tool_calls.c.state == CallState.PENDING.value,
        tool_calls.c.due_at <= NOW + EARLY_S,
        tool_calls.c.held.is_(None),
    )
    .values(
        state=CallState.RUNNING.value,
        token=bindparam("key_token"),
        worker_id=bindparam("key_worker"),
        lease_until=NOW + LEASE_S,
        claimed_sent_at=_first_sent(tool_calls),
        wait_reason=null(),
    )
    .returning(
        tool_calls.c.tool, tool_calls.c.args, tool_calls.c.attempt, tool_calls.c.failures,
        tool_calls.c.deaths, tool_calls.c.quarantined, tool_calls.c.queue,
    )
)  # fmt: skip

# ---- the start of a tool call ----

START = (
    update(tool_calls)
    .where(
        *THIS_CALL,
        tool_calls.c.token == bindparam("key_token"),
        tool_calls.c.lease_until > NOW,
        tool_calls.c.started_at.is_(None),
    )
    .values(started_at=NOW)
)
START_IN_BATCH = START.where(exists().where(batches.c.id == KEY_BATCH, BATCH_OPEN))
NOTE_START = update(attempts).where(THIS_ATTEMPT).values(started_at=NOW)

# ---- attempts ----

ATTEMPT_COLUMNS = (*KEY, "queue", "claimed_at", "deadline_at")


def attempt_row(queue: ColumnElement[Any], limit_s: ColumnElement[float]) -> Select[Any]:
    """Selects the values of `ATTEMPT_COLUMNS`."""
    return select(*KEY.values(), queue, NOW, NOW + limit_s)


# This runs after the hot row is locked, so it sees every acknowledged pause and every worker declared dead.
WRITE_ATTEMPT = (
    insert(attempts)
    .from_select(
        ATTEMPT_COLUMNS,
        attempt_row(bindparam("new_queue", type_=attempts.c.queue.type), LEASE_S).where(
            exists().where(*WORKER_UP), exists().where(batches.c.id == KEY_BATCH, *BATCH_GOING)
        ),
    )
    .returning(attempts.c.token)
)

RESERVE = (
    update(attempts)
    .where(THIS_ATTEMPT, attempts.c.ended_at.is_(None))
    .values(reserved_usd=bindparam("bound_usd"))
    .returning(attempts.c.token)
)
