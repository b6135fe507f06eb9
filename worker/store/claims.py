"""Claims: the guarded writes with which work begins. Each returns the work, or None: not yours, stop.

Lock order, here and everywhere: the run's hot row, then its tool calls, then attempts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, Table, bindparam, case, exists, insert, null, or_, select, true, update
from sqlalchemy.sql import ColumnElement

from worker.core.moves import CallView, Hot
from worker.core.states import BatchState, CallState, Phase, WorkerState
from worker.store.session import NOW, AnyRow, Store
from worker.store.tables import active, attempts, batches, tool_calls, workers

EARLY_S = 0.05
"""A doorbell may ring this much before its due time: timers and clocks are not that exact."""

HOT_COLUMNS = (
    active.c.phase, active.c.step, active.c.attempt, active.c.failures, active.c.deaths, active.c.quarantined,
    active.c.pending, active.c.malformed, active.c.folds, active.c.output_raises, active.c.final_reason,
    active.c.last_words, active.c.cost_usd, active.c.reserved_usd, active.c.allotment_usd,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to do one piece of work and to write its result. `call` is 0 for a model call."""

    token: str
    run_id: str
    step: int
    call: int
    attempt: int
    worker_id: str
    deadline_s: float
    """Seconds from the claim after which the attempt is void; for a model call, beyond its own time limit."""


@dataclass(frozen=True, slots=True)
class ThinkWork:
    """A claimed model call."""

    lease: Lease
    hot: Hot
    batch_id: str
    klass: str
    config_hash: str


@dataclass(frozen=True, slots=True)
class Seen:
    """The run's hot row as a tool call's claim saw it; while its `event` stands, nothing of it has moved.

    Of `hot` only what the end of a call depends on is told: phase, step and how many calls are pending.
    """

    hot: Hot
    event: int


@dataclass(frozen=True, slots=True)
class CallWork:
    """A claimed tool call."""

    lease: Lease
    tool: str
    args: dict[str, Any]
    batch_id: str
    config_hash: str
    view: CallView
    seen: Seen | None = None


def hot_of(row: AnyRow) -> Hot:
    """The decision's view of a hot row that was selected with `HOT_COLUMNS`."""
    return Hot(**{column.name: getattr(row, column.name) for column in HOT_COLUMNS})


def claim_think(store: Store, lease: Lease) -> ThinkWork | None:
    """Begins a model call if step and attempt still stand, it is due, and neither run nor batch is paused or ended.

    Safe to repeat with the same token: a claim whose commit's answer was lost is found again by `reclaimed`.
    """
    if store.at_once and (row := store.once(_CLAIM_THINK_AT_ONCE, _claim_values(lease))) is not None:
        return ThinkWork(lease, hot_of(row), row.batch_id, row.klass, row.config_hash)
    with store.write() as tx:
        row = tx.execute(_CLAIM_THINK, _claim_values(lease)).one_or_none()
        if row is None or not _write_attempt(tx, lease, row.batch_id, row.queue, row.call_limit_s):
            tx.rollback()
            return None
        return ThinkWork(lease, hot_of(row), row.batch_id, row.klass, row.config_hash)


def claim_call(store: Store, lease: Lease) -> CallWork | None:
    """Begins a tool call under the same conditions. The hot row is locked first, so no cancel slips between."""
    if store.at_once and (row := store.once(_CLAIM_CALL_AT_ONCE, _claim_values(lease))) is not None:
        return CallWork(lease, row.tool, row.args or {}, row.batch_id, row.config_hash, _view(row), _seen(lease, row))
    with store.write() as tx:
        run = tx.execute(_LOCK_ACTING, {"run": lease.run_id, "at": lease.step}).one_or_none()
        row = tx.execute(_CLAIM_CALL, _claim_values(lease)).one_or_none() if run else None
        if run is None or row is None or not _write_attempt(tx, lease, run.batch_id, row.queue):
            tx.rollback()
            return None
        return CallWork(lease, row.tool, row.args or {}, run.batch_id, run.config_hash, _view(row))


def _view(row: AnyRow) -> CallView:
    return CallView(row.attempt, row.failures, row.deaths, row.quarantined, tool=row.tool)


def _seen(lease: Lease, row: AnyRow) -> Seen:
    return Seen(Hot(Phase.ACT.value, lease.step, pending=row.pending), row.event)


def start_call(store: Store, lease: Lease) -> bool:
    """The second fenced commit of a call that must not be repeated, just before its effect.

    False: the lease is gone or past its deadline, the run or its batch has ended, or the call was started before
    (`started` tells whether by this very lease); the effect must not happen.
    """
    values = {"run": lease.run_id, "at": lease.step, "nth": lease.call, "mine": lease.token}
    if store.at_once and store.once(_START_AT_ONCE, values) is not None:
        return True
    with store.write() as tx:
        # A pause lets what was claimed finish, so it is not looked at here.
        run = tx.execute(_LOCK_STARTING, {"run": lease.run_id, "at": lease.step}).one_or_none()
        if run is None or tx.execute(_START_IN_BATCH, values | {"batch": run.batch_id}).rowcount != 1:
            return False
        tx.execute(_NOTE_START, values)
        return True


def reclaimed(store: Store, lease: Lease) -> bool:
    """Whether a claim with this token has landed: for a commit whose answer was lost."""
    table = tool_calls if lease.call else active
    with store.read() as tx:
        return bool(tx.execute(select(table.c.token).where(table.c.token == lease.token, *_key(lease))).first())


def started(store: Store, lease: Lease) -> bool:
    """Whether `start_call` has landed and the lease still holds: for a commit whose answer was lost."""
    mine = (*_call_key(lease), tool_calls.c.token == lease.token, tool_calls.c.lease_until > NOW)
    with store.read() as tx:
        return tx.execute(select(tool_calls.c.started_at).where(*mine)).scalar() is not None


def _key(lease: Lease) -> tuple[ColumnElement[bool], ...]:
    return _call_key(lease) if lease.call else (active.c.run_id == lease.run_id,)


def _call_key(lease: Lease) -> tuple[ColumnElement[bool], ...]:
    c = tool_calls.c
    return c.run_id == lease.run_id, c.step == lease.step, c.call == lease.call


def _claim_values(lease: Lease) -> dict[str, Any]:
    return {
        "run": lease.run_id, "at": lease.step, "nth": lease.call, "try": lease.attempt, "new_token": lease.token,
        "worker": lease.worker_id, "lease_s": lease.deadline_s,
    }  # fmt: skip


_IN_TIME = or_(active.c.deadline_at.is_(None), active.c.deadline_at > NOW)
_BATCH_OPEN = batches.c.state == BatchState.OPEN.value


def _first_rung(table: Table) -> ColumnElement[float | None]:
    """When a doorbell rang, as evidence of how far its queue is worked off; null for one that was rung again.

    It cannot be told which of two was answered: to assume the later one would prove a whole backlog lost.
    """
    return case((table.c.sent_at - table.c.due_at > 0.25, null()), else_=table.c.sent_at)


_DUE_TO_THINK = (
    active.c.run_id == bindparam("run"),
    active.c.step == bindparam("at"),
    active.c.attempt == bindparam("try"),
    or_(active.c.phase == Phase.THINK.value, active.c.phase == Phase.WAIT.value),
    active.c.token.is_(None),
    active.c.due_at <= NOW + EARLY_S,
    active.c.paused.is_(False),
    active.c.parked.is_(None),
    _IN_TIME,
)

_CLAIM = (
    update(active)
    .values(
        phase=Phase.THINK.value,
        token=bindparam("new_token"),
        worker_id=bindparam("worker"),
        lease_until=NOW + active.c.call_limit_s + bindparam("lease_s"),
        # What ran in quarantine says nothing of how far the usual queue has been worked off.
        claimed_sent_at=case((active.c.quarantined.is_(True), null()), else_=_first_rung(active)),
        wait_reason=null(),
    )
    .returning(
        *HOT_COLUMNS, active.c.batch_id, active.c.klass, active.c.config_hash, active.c.queue, active.c.call_limit_s
    )
)

_CLAIM_THINK = _CLAIM.where(*_DUE_TO_THINK)

_STARTING = select(active.c.batch_id, active.c.config_hash).where(
    active.c.run_id == bindparam("run"),
    active.c.step == bindparam("at"),
    active.c.phase == Phase.ACT.value,
    _IN_TIME,
)
_ACTING = _STARTING.where(active.c.paused.is_(False), active.c.parked.is_(None))
_LOCK_STARTING, _LOCK_ACTING = _STARTING.with_for_update(), _ACTING.with_for_update()

_START = (
    update(tool_calls)
    .where(
        tool_calls.c.run_id == bindparam("run"),
        tool_calls.c.step == bindparam("at"),
        tool_calls.c.call == bindparam("nth"),
        tool_calls.c.token == bindparam("mine"),
        tool_calls.c.lease_until > NOW,
        tool_calls.c.started_at.is_(None),
    )
    .values(started_at=NOW)
)
_START_IN_BATCH = _START.where(exists().where(batches.c.id == bindparam("batch"), _BATCH_OPEN))
_NOTE_START = update(attempts).where(attempts.c.token == bindparam("mine")).values(started_at=NOW)

_CLAIM_CALL = (
    update(tool_calls)
    .where(
        tool_calls.c.run_id == bindparam("run"),
        tool_calls.c.step == bindparam("at"),
        tool_calls.c.call == bindparam("nth"),
        tool_calls.c.attempt == bindparam("try"),
        tool_calls.c.state == CallState.PENDING.value,
        tool_calls.c.due_at <= NOW + EARLY_S,
        tool_calls.c.held.is_(None),
    )
    .values(
        state=CallState.RUNNING.value,
        token=bindparam("new_token"),
        worker_id=bindparam("worker"),
        lease_until=NOW + bindparam("lease_s"),
        claimed_sent_at=_first_rung(tool_calls),
        wait_reason=null(),
    )
    .returning(
        tool_calls.c.tool, tool_calls.c.args, tool_calls.c.attempt, tool_calls.c.failures,
        tool_calls.c.deaths, tool_calls.c.quarantined, tool_calls.c.queue,
    )
)  # fmt: skip

# The owner must be beating and the batch open and unpaused.
_WORKER_UP = (workers.c.id == bindparam("worker"), workers.c.state == WorkerState.UP.value)
_BATCH_GOING = (_BATCH_OPEN, batches.c.paused_reason.is_(None))

_ATTEMPT = ("token", "run_id", "step", "call", "attempt", "worker_id", "queue", "claimed_at", "deadline_at")


def _attempt(queue: ColumnElement[Any], limit_s: ColumnElement[float]) -> Select[Any]:
    """The values of `_ATTEMPT`."""
    names = {
        "token": "new_token",
        "run_id": "run",
        "step": "at",
        "call": "nth",
        "attempt": "try",
        "worker_id": "worker",
    }
    given = [bindparam(name, type_=attempts.c[column].type) for column, name in names.items()]
    return select(*given, queue, NOW, NOW + limit_s)


# This statement runs after the hot row is locked, so it sees every pause and every voided worker that was acknowledged
# before.
_WRITE_ATTEMPT = (
    insert(attempts)
    .from_select(
        _ATTEMPT,
        _attempt(bindparam("on_queue"), bindparam("lease_s")).where(
            exists().where(*_WORKER_UP), exists().where(batches.c.id == bindparam("batch"), *_BATCH_GOING)
        ),
    )
    .returning(attempts.c.token)
)


def _write_attempt(tx: Connection, lease: Lease, batch_id: str, queue: str, call_limit_s: float = 0.0) -> bool:
    values = _claim_values(lease) | {"batch": batch_id, "on_queue": queue}
    values["lease_s"] = lease.deadline_s + call_limit_s
    return tx.execute(_WRITE_ATTEMPT, values).first() is not None


# The same as one statement, which has one snapshot for everything. A hot row that somebody has locked is therefore left
# to the statements above: while one waited for it, a pause could be acknowledged that its snapshot does not show.
# Its batch is looked up by its key: as an EXISTS it becomes a join, for which PostgreSQL may read all open batches.
_MAY_BEGIN = (
    exists().where(*_WORKER_UP),
    select(true()).where(batches.c.id == active.c.batch_id, *_BATCH_GOING).scalar_subquery(),
)


def _claim_think_at_once() -> Select[Any]:
    free = select(active.c.run_id).where(*_DUE_TO_THINK, *_MAY_BEGIN)
    locked = free.with_for_update(skip_locked=True, of=active).cte("locked")
    claimed = _CLAIM.where(active.c.run_id == bindparam("run"), active.c.run_id == locked.c.run_id).cte("claimed")
    source = _attempt(claimed.c.queue, claimed.c.call_limit_s + bindparam("lease_s")).select_from(claimed)
    returned = (*HOT_COLUMNS, active.c.batch_id, active.c.klass, active.c.config_hash)
    needed = select(*(claimed.c[column.name] for column in returned))
    return needed.add_cte(insert(attempts).from_select(_ATTEMPT, source).cte("written"))


def _claim_call_at_once() -> Select[Any]:
    c = active.c
    free = _ACTING.with_only_columns(c.run_id, c.batch_id, c.config_hash, c.event, c.pending)
    locked = free.where(*_MAY_BEGIN).with_for_update(skip_locked=True, of=active).cte("locked")
    claimed = _CLAIM_CALL.where(tool_calls.c.run_id == locked.c.run_id).cte("claimed")
    source = _attempt(claimed.c.queue, bindparam("lease_s")).select_from(claimed)
    written = insert(attempts).from_select(_ATTEMPT, source).cte("written")
    return select(locked, claimed).select_from(locked.join(claimed, true())).add_cte(written)


def _start_at_once() -> Select[Any]:
    its_batch = select(true()).where(batches.c.id == active.c.batch_id, _BATCH_OPEN).scalar_subquery()
    free = _STARTING.with_only_columns(active.c.run_id).where(its_batch)
    locked = free.with_for_update(skip_locked=True, of=active).cte("locked")
    begun = _START.where(tool_calls.c.run_id == locked.c.run_id).returning(tool_calls.c.run_id).cte("begun")
    return select(begun).add_cte(_NOTE_START.where(attempts.c.run_id == begun.c.run_id).cte("noted"))


_START_AT_ONCE = _start_at_once()
_CLAIM_THINK_AT_ONCE = _claim_think_at_once()
_CLAIM_CALL_AT_ONCE = _claim_call_at_once()
