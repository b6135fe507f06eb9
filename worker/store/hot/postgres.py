"""The usual writes of the hot path as one statement each: atomic, and one round trip instead of six.

Each is a guarded write of the hot row, followed by writes that happen only if it returned a row (data-modifying common
table expressions), built from the statements that `worker.store.hot.portable` sends one by one. Unusual cases and
locked hot rows fall back to `portable`; a test compares what the two write.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import CTE, JSON, Insert, Select, bindparam, column, exists, func, insert, select, true
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.dml import ReturningUpdate

from worker.core.moves import CallDone, CallView, End, Hot, Place
from worker.core.spending import Used
from worker.core.states import Phase
from worker.store.hot import applying, claiming
from worker.store.hot.interface import Applied, CallApply, CallWork, Database, Lease, Seen, ThinkApply, ThinkWork
from worker.store.hot.parameters import (
    HOT_COLUMNS,
    THIS_CALL,
    THIS_RUN,
    THIS_STEP,
    bound,
    hot_of,
    key_of,
    spent_of,
    step_of,
)
from worker.store.hot.portable import (
    Portable,
    claim_values,
    claimed_view,
    finished,
    moved,
    think_work_message,
    work_messages_after,
)
from worker.store.schema.tables import SUMS, active, attempts, batches, tool_calls


class Postgres(Portable):
    """Implements `worker.store.hot.interface.HotWrites` for PostgreSQL."""

    def reserve(self, db: Database, lease: Lease, bound_usd: float) -> bool:
        return db.once(claiming.RESERVE, {"key_token": lease.token, "bound_usd": bound_usd}) is not None

    def _claim_think(self, db: Database, lease: Lease) -> ThinkWork | None:
        row = db.once(CLAIM_THINK, claim_values(lease))
        if row is None:
            return super()._claim_think(db, lease)
        return ThinkWork(lease, hot_of(row), row.batch_id, row.klass, row.config_hash)

    def _claim_call(self, db: Database, lease: Lease) -> CallWork | None:
        row = db.once(CLAIM_CALL, claim_values(lease))
        if row is None:
            return super()._claim_call(db, lease)
        seen = Seen(Hot(Phase.ACT, lease.step, pending=row.pending), row.event)
        return CallWork(lease, row.tool, row.args or {}, row.batch_id, row.config_hash, claimed_view(row), seen)

    def _start_call(self, db: Database, lease: Lease) -> bool:
        return db.once(START_CALL, key_of(lease)) is not None or super()._start_call(db, lease)

    def _apply_think(self, db: Database, apply: ThinkApply) -> Applied | None:
        lease, decision, record = apply.lease, apply.decision, apply.record
        calls = () if isinstance(decision, End) else decision.calls
        if not apply.spent.usual or (calls and record is None):
            return super()._apply_think(db, apply)
        values = key_of(lease) | spent_of(apply.spent)
        if record is not None:
            values |= step_of(record)
        if isinstance(decision, End):
            values |= applying.end_of(decision, apply.steps)
            return None if db.once(END_WITH_STEP if record else END, values) is None else Applied(ended=True)
        values |= moved(decision)
        if calls:
            values["new_calls"] = [applying.call_row(number, call) for number, call in enumerate(calls, 1)]
        row = db.once(MOVE_WITH_CALLS if calls else MOVE_WITH_STEP if record else MOVE, values)
        return None if row is None else Applied(work_messages_after(lease, row.klass, decision))

    def _apply_call(self, db: Database, apply: CallApply) -> Applied | None:
        applied = None if apply.seen is None or not apply.spent.usual else _observe(db, apply, *apply.seen)
        return applied or super()._apply_call(db, apply)


POSTGRES = Postgres()


def _observe(db: Database, apply: CallApply, seen: Seen, view: CallView) -> Applied | None:
    """Ends a call that is done, started or not. Returns None, having written nothing, in every other case."""
    change = apply.decide(seen.hot, view)
    if not isinstance(change, CallDone) or isinstance(change.run, End):
        return None
    lease = apply.lease
    values = key_of(lease) | spent_of(apply.spent) | finished(change) | {"key_event": seen.event}
    if change.run is None:
        row = db.once(FINISH_CALL, values | {"new_pending": seen.hot.pending - 1})
        return None if row is None else Applied()
    row = db.once(FINISH_STEP, values | bound("new", Place, change.run))
    return None if row is None else Applied((think_work_message(lease.run_id, row.klass, change.run),))


# ---- claims ----

# A statement has a single snapshot. A locked hot row is therefore left to the statements of `portable`: while this one
# waited for the lock, a pause could be acknowledged that its snapshot does not show.
# The batch is looked up by key: an EXISTS would become a join, for which PostgreSQL may read all open batches.
_MAY_BEGIN = (
    exists().where(*claiming.WORKER_UP),
    select(true()).where(batches.c.id == active.c.batch_id, *claiming.BATCH_GOING).scalar_subquery(),
)


def _locked(free: Select[Any]) -> CTE:
    return free.with_for_update(skip_locked=True, of=active).cte("locked")


def _attempt(queue: ColumnElement[Any], limit_s: ColumnElement[float], claimed: CTE) -> CTE:
    source = claiming.attempt_row(queue, limit_s).select_from(claimed)
    return insert(attempts).from_select(claiming.ATTEMPT_COLUMNS, source).cte("attempt")


def _claim_think() -> Select[Any]:
    locked = _locked(select(active.c.run_id).where(*claiming.DUE_TO_THINK, *_MAY_BEGIN))
    claimed = claiming.LEASE_THINK.where(THIS_RUN, active.c.run_id == locked.c.run_id).cte("claimed")
    returned = (*HOT_COLUMNS, active.c.batch_id, active.c.klass, active.c.config_hash)
    attempt = _attempt(claimed.c.queue, claimed.c.call_limit_s + claiming.LEASE_S, claimed)
    return select(*(claimed.c[column.name] for column in returned)).add_cte(attempt)


def _claim_call() -> Select[Any]:
    c = active.c
    free = claiming.ACTING.with_only_columns(c.run_id, c.batch_id, c.config_hash, c.event, c.pending)
    locked = _locked(free.where(*_MAY_BEGIN))
    claimed = claiming.CLAIM_CALL.where(tool_calls.c.run_id == locked.c.run_id).cte("claimed")
    attempt = _attempt(claimed.c.queue, claiming.LEASE_S, claimed)
    return select(locked, claimed).select_from(locked.join(claimed, true())).add_cte(attempt)


def _start_call() -> Select[Any]:
    its_batch = select(true()).where(batches.c.id == active.c.batch_id, claiming.BATCH_OPEN).scalar_subquery()
    locked = _locked(claiming.STARTING.with_only_columns(active.c.run_id).where(its_batch))
    begun = claiming.START.where(tool_calls.c.run_id == locked.c.run_id).returning(tool_calls.c.run_id).cte("begun")
    return select(begun).add_cte(claiming.NOTE_START.where(attempts.c.run_id == begun.c.run_id).cte("noted"))


CLAIM_THINK, CLAIM_CALL, START_CALL = _claim_think(), _claim_call(), _start_call()

# ---- applies ----

# psycopg caches how it parsed a statement only up to 4096 characters and 50 parameters. Parsing longer ones each time
# made an apply a third slower here, so these statements write only what a usual attempt changes.


def _then(first: Any, columns: tuple[str, ...], **following: Any) -> Select[Any]:
    """Returns one statement that does all the writes and selects these columns of the first one's row."""
    # As few columns as possible: describing one in the result takes as long as binding a parameter.
    chosen = select(*(first.c[name] for name in columns))
    return chosen.add_cte(*(write.cte(name) for name, write in following.items()))


def _move(step: bool = False, calls: bool = False) -> Select[Any]:
    """Ends a model call's attempt under its token and moves its run on."""
    moved = applying.move(Used).cte("moved")
    following: dict[str, Any] = {"attempt": applying.close_attempt(moved)}
    if step:
        following["step"] = applying.step(moved)
    if calls:
        following["calls"] = _new_calls(moved)
    return _then(moved, ("klass",), **following)


def _new_calls(moved: CTE) -> Insert:
    columns = [column(name, tool_calls.c[name].type) for name in applying.CALL_COLUMNS]
    asked = func.json_to_recordset(bindparam("new_calls", type_=JSON())).table_valued(*columns)
    asked = asked.render_derived(name="asked", with_types=True)
    return applying.new_calls(dict(asked.c.items()), moved, moved.join(asked, true()))


def _end(step: bool = False) -> Select[Any]:
    """Ends a model call's attempt under its token, and its run."""
    columns = [active.c[name] for name in ("run_id", *applying.WHOSE, *SUMS)]
    gone = applying.leave(columns).where(applying.UNDER_LEASE).cte("gone")
    following: dict[str, Any] = {"step": applying.step(gone)} if step else {}
    following |= {"attempt": applying.close_attempt(gone), "run": applying.end_run(gone)}
    return _then(gone, ("run_id",), **following, ending=applying.ending(gone))


def _finish(change: ReturningUpdate[str, str, int]) -> Select[Any]:
    """Ends a tool call and its attempt if its run's hot row is still at the event that the claim saw.

    The event number is the guard: every change to the hot row or to one of its claimed calls increments it under the
    row's lock. A token alone would be read from this statement's snapshot, which may be older than that lock.
    """
    mine = exists().where(*THIS_CALL, tool_calls.c.token == bindparam("key_token"))
    unmoved = (*THIS_STEP, active.c.phase == Phase.ACT.value, active.c.event == bindparam("key_event"))
    moved = change.where(*unmoved, mine).cte("moved")
    return _then(moved, ("klass",), call=applying.finish_call(moved), attempt=applying.close_attempt(moved))


MOVE, MOVE_WITH_STEP, MOVE_WITH_CALLS = _move(), _move(step=True), _move(step=True, calls=True)
END, END_WITH_STEP = _end(), _end(step=True)
FINISH_CALL, FINISH_STEP = _finish(applying.count_call(Used)), _finish(applying.next_step(Used))
