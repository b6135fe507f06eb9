"""The writes of the hot path, statement by statement inside transactions: they work on every database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from worker.core.moves import CallAgain, CallChange, CallDone, CallView, End, Move, Place, State, Tries
from worker.core.spending import Spent
from worker.core.states import Phase, quarantine_queue, think_queue
from worker.core.work_messages import WorkMessage
from worker.store.hot import applying, claiming
from worker.store.hot.endings import end_run, stop_attempts
from worker.store.hot.interface import Applied, CallApply, CallWork, Database, Lease, ThinkApply, ThinkWork
from worker.store.hot.parameters import bound, hot_of, key_of, spent_of, step_of
from worker.store.session import AnyRow


class Portable:
    """Implements `worker.store.hot.interface.HotWrites`, one element after the other."""

    def claim_thinks(self, db: Database, leases: Sequence[Lease]) -> list[ThinkWork | None]:
        return [self._claim_think(db, lease) for lease in leases]

    def claim_calls(self, db: Database, leases: Sequence[Lease]) -> list[CallWork | None]:
        return [self._claim_call(db, lease) for lease in leases]

    def start_calls(self, db: Database, leases: Sequence[Lease]) -> list[bool]:
        return [self._start_call(db, lease) for lease in leases]

    def apply_thinks(self, db: Database, applies: Sequence[ThinkApply]) -> list[Applied | None]:
        return [self._apply_think(db, apply) for apply in applies]

    def apply_calls(self, db: Database, applies: Sequence[CallApply]) -> list[Applied | None]:
        return [self._apply_call(db, apply) for apply in applies]

    def reserve(self, db: Database, lease: Lease, bound_usd: float) -> bool:
        with db.write() as tx:
            values = {"key_token": lease.token, "bound_usd": bound_usd}
            return tx.execute(claiming.RESERVE, values).one_or_none() is not None

    def _claim_think(self, db: Database, lease: Lease) -> ThinkWork | None:
        with db.write() as tx:
            row = tx.execute(claiming.CLAIM_THINK, claim_values(lease)).one_or_none()
            if row is None or not _write_attempt(tx, lease, row.batch_id, row.queue, row.call_limit_s):
                tx.rollback()
                return None
            return ThinkWork(lease, hot_of(row), row.batch_id, row.klass, row.config_hash)

    def _claim_call(self, db: Database, lease: Lease) -> CallWork | None:
        values = claim_values(lease)
        with db.write() as tx:
            run = tx.execute(claiming.LOCK_TO_CLAIM, values).one_or_none()
            row = tx.execute(claiming.CLAIM_CALL, values).one_or_none() if run else None
            if run is None or row is None or not _write_attempt(tx, lease, run.batch_id, row.queue):
                tx.rollback()
                return None
            return CallWork(lease, row.tool, row.args or {}, run.batch_id, run.config_hash, claimed_view(row))

    def _start_call(self, db: Database, lease: Lease) -> bool:
        values = key_of(lease)
        with db.write() as tx:
            run = tx.execute(claiming.LOCK_TO_START, values).one_or_none()
            if run is None:
                return False
            if tx.execute(claiming.START_IN_BATCH, values | {"key_batch": run.batch_id}).rowcount != 1:
                return False
            tx.execute(claiming.NOTE_START, values)
            return True

    def _apply_think(self, db: Database, apply: ThinkApply) -> Applied | None:
        lease, decision = apply.lease, apply.decision
        with db.write() as tx:
            spent = _with_bounds(tx, lease, apply.spent)
            values = key_of(lease) | spent_of(spent)
            if isinstance(decision, End):
                row = tx.execute(applying.LEAVE_UNDER_LEASE, values).one_or_none()
            else:
                row = tx.execute(applying.MOVE, values | moved(decision)).one_or_none()
            if row is None:
                tx.rollback()
                return None
            values["new_event"] = row.event
            if apply.record is not None:
                tx.execute(applying.STEP, values | step_of(apply.record))
            tx.execute(applying.CLOSE_ATTEMPT, values)
            if isinstance(decision, End):
                end_run(tx, row, decision, spent.sums(), row.event, apply.steps)
                return Applied(ended=True)
            if decision.calls:
                calls = [applying.call_row(number, call) for number, call in enumerate(decision.calls, 1)]
                whose = {"key_run": lease.run_id, "key_step": lease.step, "new_event": row.event}
                tx.execute(applying.NEW_CALL, [whose | {f"call_{k}": v for k, v in call.items()} for call in calls])
            return Applied(work_messages_after(lease, row.klass, decision))

    def _apply_call(self, db: Database, apply: CallApply) -> Applied | None:
        values = key_of(apply.lease)
        with db.write() as tx:
            hot = tx.execute(applying.LOCK_ACTING, values).one_or_none()
            call = tx.execute(applying.CALL_UNDER_LEASE, values).one_or_none() if hot else None
            if hot is None or call is None:
                return None
            change = apply.decide(hot_of(hot), view_of(call))
            return settle_call(tx, hot, call, change, _with_bounds(tx, apply.lease, apply.spent), apply.lease)


PORTABLE = Portable()


def claim_values(lease: Lease) -> dict[str, Any]:
    """Returns the parameters of a claim's statements."""
    return key_of(lease) | {"lease_s": lease.deadline_s}


def _write_attempt(tx: Connection, lease: Lease, batch_id: str, queue: str, call_limit_s: float = 0.0) -> bool:
    values = key_of(lease) | {"key_batch": batch_id, "new_queue": queue, "lease_s": lease.deadline_s + call_limit_s}
    return tx.execute(claiming.WRITE_ATTEMPT, values).first() is not None


def claimed_view(row: AnyRow) -> CallView:
    """Returns what decisions see of a call that was just claimed and so has not started."""
    return CallView(row.attempt, row.failures, row.deaths, row.quarantined, tool=row.tool)


def view_of(call: AnyRow) -> CallView:
    """Returns what decisions see of a tool call's row; the caller adds the tool's own idempotence and limits."""
    return replace(claimed_view(call), started=call.started_at is not None)


def _with_bounds(tx: Connection, lease: Lease, spent: Spent) -> Spent:
    """Adds the held time and the reserved bound from the attempt's row, if the attempt is unusual."""
    if spent.usual:
        return spent
    row = tx.execute(applying.FACTS, key_of(lease)).one_or_none()
    if row is None:
        return spent
    return replace(spent, held_s=max(0.0, row.held_s), reserved_usd=row.reserved_usd if spent.unknown else None)


def moved(move: Move) -> dict[str, Any]:
    """Returns the parameters that `move` sets on the hot row."""
    park = move.park
    return bound("new", State, move.state) | {
        "new_wait_reason": move.wait_reason, "due_in_s": move.due_in_s,
        "new_parked": park and park.kind.value, "new_parked_target": park and park.target,
    }  # fmt: skip


def work_messages_after(lease: Lease, klass: str, move: Move) -> tuple[WorkMessage, ...]:
    """Returns the messages to send after a model call."""
    if move.state.phase == Phase.ACT:
        todo = [(n, call) for n, call in enumerate(move.calls, 1) if call.observation is None and not call.held]
        return tuple(WorkMessage(lease.run_id, lease.step, n, 1, call.queue, call.tool) for n, call in todo)
    return () if move.park else (think_work_message(lease.run_id, klass, move.state, move.due_in_s),)


def think_work_message(run_id: str, klass: str, place: Place, due_in_s: float = 0.0) -> WorkMessage:
    """Returns the work message of a run's next model call."""
    return WorkMessage(run_id, place.step, 0, place.attempt, think_queue(klass, place.quarantined), due_in_s=due_in_s)


def settle_call(tx: Connection, hot: AnyRow, call: AnyRow, change: CallChange, spent: Spent, lease: Lease) -> Applied:
    """Writes what changes for a call and its run, inside a transaction that holds the hot row's lock."""
    values = key_of(lease) | spent_of(spent) | {"new_event": hot.event + 1}
    if isinstance(change, CallAgain):
        return _call_again(tx, hot, call, change, values)
    tx.execute(applying.FINISH_CALL, values | finished(change))
    tx.execute(applying.CLOSE_ATTEMPT, values)
    if isinstance(change.run, End):
        tx.execute(applying.LEAVE, values)
        end_run(tx, hot, change.run, spent.sums(), hot.event + 1, hot.step)
        stop_attempts(tx, [hot.run_id])
        return Applied(ended=True)
    if change.run is None:
        tx.execute(applying.COUNT_CALL, values | {"new_pending": hot.pending - 1})
        return Applied()
    tx.execute(applying.NEXT_STEP, values | bound("new", Place, change.run))
    return Applied((think_work_message(hot.run_id, hot.klass, change.run),))


def _call_again(tx: Connection, hot: AnyRow, call: AnyRow, change: CallAgain, values: dict[str, Any]) -> Applied:
    tries = change.tries
    queue = quarantine_queue(call.queue) if tries.quarantined else call.queue
    new = {"new_queue": queue, "new_wait_reason": change.wait_reason, "due_in_s": change.due_in_s}
    tx.execute(applying.RETURN_CALL, values | bound("new", Tries, tries) | new)
    tx.execute(applying.CLOSE_ATTEMPT, values)
    tx.execute(applying.COUNT_CALL, values | {"new_pending": hot.pending})
    return Applied((WorkMessage(call.run_id, call.step, call.call, tries.attempt, queue, call.tool, change.due_in_s),))


def finished(change: CallDone) -> dict[str, Any]:
    """Returns the parameters of a finished tool call."""
    return {"new_observation": change.observation, "new_outcome": change.outcome}
