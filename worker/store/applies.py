"""Applies: the guarded writes with which work ends. Each returns what followed, or None: fenced out.

All filter on the lease's token, so that an apply whose commit's answer was lost can be repeated: it lands once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, bindparam, select

from worker.core.bells import Bell
from worker.core.moves import CallChange, CallView, End, Hot, Move, NewCall
from worker.core.records import JsonObject, Usage
from worker.core.states import CallState, Outcome, Phase, quarantine_queue, think_queue
from worker.store import at_once, writes
from worker.store.claims import Lease, Seen, hot_of
from worker.store.endings import end_run, ended, stop_attempts
from worker.store.session import NOW, AnyRow, Store
from worker.store.tables import active, attempts, steps, tool_calls
from worker.store.writes import news


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What a step leaves in the history."""

    kind: str
    reply: str
    kept: str
    thought: str
    finish_reason: str | None
    model: str
    message: JsonObject | None = None
    notice: str | None = None
    answer: str | None = None
    latency_s: float | None = None
    extras: JsonObject | None = None
    """What its message carried beyond the chat API (`worker.core.echo`), for the endpoint `endpoint_id` alone."""
    endpoint_id: str | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """How an attempt ended and what it used. `usage` is None where the endpoint did not say or never answered."""

    outcome: str
    error: str | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    wasted: bool = False
    billed: bool = field(default=False)
    """Whether a model call left at all, so that unknown usage is counted as such."""
    priced: bool = False
    """Whether the model's price is known, so that a call without a reservation never left."""
    reserved_usd: float | None = None
    """What a call of unknown usage may have cost at most, as its attempt reserved it."""
    held_s: float = 0.0
    """How long a wasted attempt lasted, from its claim."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What followed from an apply that landed."""

    bells: tuple[Bell, ...] = ()
    ended: bool = False


def sums_of(spent: Spent) -> dict[str, Any]:
    """What an attempt adds to the sums of its run."""
    usage = spent.usage or _NOTHING
    tokens = usage.prompt_tokens + usage.completion_tokens
    cost = spent.cost_usd or 0.0
    return {
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost_usd": cost,
        "unpriced": int(spent.billed and not spent.priced and spent.cost_usd is None and spent.reserved_usd is None),
        "wasted_tokens": tokens if spent.wasted else 0,
        "wasted_cost_usd": cost if spent.wasted else 0.0,
        "wasted_s": spent.held_s if spent.wasted else 0.0,
        "wasted_attempts": int(spent.wasted),
        "reserved_usd": spent.reserved_usd or 0.0,
        "attempts": int(spent.outcome not in (Outcome.DEFERRED, Outcome.HANDED_BACK)),
    }


def _needs_bounds(spent: Spent) -> bool:
    return spent.wasted or (spent.billed and spent.usage is None)


def _with_bounds(tx: Connection, lease: Lease, spent: Spent) -> Spent:
    """Adds what the attempt's own row tells of waste and of unknown usage; the usual attempt needs no look at it."""
    if not _needs_bounds(spent):
        return spent
    unknown = spent.billed and spent.usage is None
    row = tx.execute(_FACTS, {"mine": lease.token}).one_or_none()
    if row is None:
        return spent
    return replace(spent, held_s=max(0.0, row.held_s), reserved_usd=row.reserved_usd if unknown else None)


_FACTS = select((NOW - attempts.c.claimed_at).label("held_s"), attempts.c.reserved_usd).where(
    attempts.c.token == bindparam("mine")
)


def apply_think(
    store: Store, lease: Lease, decision: Move | End, spent: Spent, record: StepRecord | None = None
) -> Applied | None:
    """Ends a model call's attempt and moves its run on, or ends the run."""
    if store.at_once and not _needs_bounds(spent):
        return _think_at_once(store, lease, decision, spent, record)
    with store.write() as tx:
        spent = _with_bounds(tx, lease, spent)
        if isinstance(decision, End):
            row = tx.execute(writes.LEAVE_UNDER_LEASE, {"run": lease.run_id, "mine": lease.token}).one_or_none()
        else:
            values = {**_moved(decision, spent), "run": lease.run_id, "mine": lease.token}
            row = tx.execute(writes.move_under_lease(*_shape(decision, spent)), values).one_or_none()
        if row is None:
            tx.rollback()
            return None
        if record is not None:
            whose = news(steps, {"run_id": lease.run_id, "event": row.event})
            tx.execute(writes.STEP, _recorded(lease, record, spent) | whose)
        _close_attempt(tx, lease, spent, row.event)
        if isinstance(decision, End):
            end_run(tx, row, decision, sums_of(spent), row.event, _steps(lease, record))
            return Applied(ended=True)
        _write_calls(tx, row, decision, lease.step)
        return Applied(_bells(row, decision, lease.step))


def _think_at_once(
    store: Store, lease: Lease, decision: Move | End, spent: Spent, record: StepRecord | None
) -> Applied | None:
    values = {"run": lease.run_id, "mine": lease.token, "at": lease.step, **_closed(spent)}
    if record is not None:
        values |= _recorded(lease, record, spent)
    if isinstance(decision, End):
        values |= ended(decision, _steps(lease, record)) | writes.added(sums_of(spent))
        row = store.once(at_once.end(record is not None), values)
        return None if row is None else Applied(ended=True)
    values |= _moved(decision, spent)
    if decision.calls:
        values["calls"] = [_new_call(n, call) for n, call in enumerate(decision.calls, 1)]
    row = store.once(at_once.move(*_shape(decision, spent), record is not None, bool(decision.calls)), values)
    return None if row is None else Applied(_bells(row, decision, lease.step))


def apply_call(
    store: Store,
    lease: Lease,
    decide: Callable[[Hot, CallView], CallChange],
    spent: Spent,
    seen: tuple[Seen, CallView] | None = None,
) -> Applied | None:
    """Ends a tool call's attempt. `decide(hot, view) -> CallChange` is asked under the lock of the hot row.

    The hot row is locked first, so that of two finishers of a step's last two calls the second sees the first. With
    what its claim has `seen` it is asked before, and what it says is written if nothing has moved since.
    """
    if seen is not None and store.at_once and not _needs_bounds(spent):
        change = decide(seen[0].hot, seen[1])
        applied = _observe_at_once(store, lease, change, spent, seen[0]) if _is_usual(change) else None
        if applied is not None:
            return applied
    with store.write() as tx:
        key = {"run": lease.run_id, "at": lease.step}
        hot = tx.execute(writes.LOCK_ACTING, key).one_or_none()
        if hot is None:
            return None
        mine = {**key, "nth": lease.call, "mine": lease.token}
        call = tx.execute(writes.CALL_UNDER_LEASE, mine).one_or_none()
        if call is None:
            return None
        change = decide(hot_of(hot), view_of(call))
        return settle_call(tx, hot, call, change, _with_bounds(tx, lease, spent), lease)


def _is_usual(change: CallChange) -> bool:
    """A call that is done, which it is alike whether or not it had started, and that does not end its run."""
    return change.changes["state"] == CallState.DONE and not isinstance(change.run, End)


def _observe_at_once(store: Store, lease: Lease, change: CallChange, spent: Spent, seen: Seen) -> Applied | None:
    move = change.run if isinstance(change.run, Move) else Move({"pending": seen.hot.pending - 1})
    values = {"run": lease.run_id, "mine": lease.token, "at": lease.step, "nth": lease.call, "seen": seen.event}
    values |= {**_moved(move, spent), **news(tool_calls, change.changes), **_closed(spent)}
    changed, sums = _shape(move, spent)
    row = store.once(at_once.observe(changed, tuple(sorted(change.changes)), sums), values)
    if row is None:
        return None
    return Applied(_bells(row, move, lease.step)) if change.run is not None else Applied()


def settle_call(tx: Connection, hot: AnyRow, call: AnyRow, change: CallChange, spent: Spent, lease: Lease) -> Applied:
    """Writes a call's change and its run's, inside a transaction that holds the hot row's lock."""
    done = change.changes["state"] == CallState.DONE
    event = hot.event + 1
    _change_call(tx, call, change, done, event)
    _close_attempt(tx, lease, spent, event)
    if isinstance(change.run, End):
        tx.execute(writes.LEAVE, {"run": hot.run_id})
        end_run(tx, hot, change.run, sums_of(spent), event, hot.step)
        stop_attempts(tx, [hot.run_id])
        return Applied(ended=True)
    move = change.run or Move({"pending": hot.pending - 1 if done else hot.pending})
    row = tx.execute(writes.move(*_shape(move, spent)), {**_moved(move, spent), "run": hot.run_id}).one()
    if change.run is not None:
        return Applied(_bells(row, move, hot.step))
    if done:
        return Applied()
    queue = quarantine_queue(call.queue) if change.changes.get("quarantined") else call.queue
    return Applied((Bell(call.run_id, call.step, call.call, call.attempt + 1, queue, call.tool, change.due_in_s),))


def landed(store: Store, lease: Lease) -> bool:
    """Whether an apply with a result under this lease has landed: for a commit whose answer was lost.

    False for an attempt that others ended (lost, timed out, handed back, stopped): nothing of its result was kept.
    """
    with store.read() as tx:
        outcome = tx.execute(select(attempts.c.outcome).where(attempts.c.token == lease.token)).scalar()
    return outcome in (Outcome.OK, Outcome.ERROR, Outcome.DEFERRED)


def view_of(call: AnyRow) -> CallView:
    """The decision's view of a tool call's row; idempotence and limits are the tool's, and the caller adds them."""
    started = call.started_at is not None
    return CallView(call.attempt, call.failures, call.deaths, call.quarantined, started, tool=call.tool)


def _shape(move: Move, spent: Spent) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which columns and which sums of the hot row change."""
    return tuple(sorted(move.changes)), tuple(name for name, amount in sums_of(spent).items() if amount)


def _moved(move: Move, spent: Spent) -> dict[str, Any]:
    values = news(active, move.changes) | writes.added({k: amount for k, amount in sums_of(spent).items() if amount})
    if "phase" in move.changes:
        values["due_in"] = move.due_in_s
    return values


def _write_calls(tx: Connection, row: AnyRow, move: Move, step: int) -> None:
    if move.calls:
        whose = {"run_id": row.run_id, "step": step, "event": row.event}
        calls = [_new_call(n, call) | whose for n, call in enumerate(move.calls, 1)]
        tx.execute(writes.NEW_CALL, [news(tool_calls, call) for call in calls])


def _bells(row: AnyRow, move: Move, step: int) -> tuple[Bell, ...]:
    """Which doorbells to ring after a move."""
    if row.phase == Phase.ACT:
        todo = [(n, call) for n, call in enumerate(move.calls, 1) if call.observation is None and not call.held]
        return tuple(Bell(row.run_id, step, n, 1, call.queue, call.tool) for n, call in todo)
    if move.changes.get("parked"):
        return ()
    queue = think_queue(row.klass, row.quarantined)
    return (Bell(row.run_id, row.step, 0, row.attempt, queue, due_in_s=move.due_in_s),)


def _new_call(number: int, call: NewCall) -> dict[str, Any]:
    """What a new call's row says, beside whose it is: `writes.CALL_FIELDS`."""
    done = call.observation is not None
    return {
        "call": number, "tool": call.tool, "args": dict(call.args), "queue": call.queue, "call_id": call.call_id,
        "observation": call.observation, "held": call.held,
        "state": CallState.DONE.value if done else CallState.PENDING.value,
        "outcome": Outcome.ERROR.value if done else None,
    }  # fmt: skip


def _change_call(tx: Connection, call: AnyRow, change: CallChange, done: bool, event: int) -> None:
    changes = dict(change.changes)
    if changes.get("quarantined"):
        changes |= {"queue": quarantine_queue(call.queue), "claimed_sent_at": None}
    values = {**news(tool_calls, changes), "run": call.run_id, "at": call.step, "nth": call.call}
    values |= news(tool_calls, {"event": event}) if done else {"due_in": change.due_in_s}
    tx.execute(writes.CHANGE_CALL(tuple(sorted(changes)), done), values)


def _recorded(lease: Lease, record: StepRecord, spent: Spent) -> dict[str, Any]:
    row = {name: getattr(record, name) for name in StepRecord.__slots__} | _usage_of(spent)
    if row["kept"] == row["reply"]:
        row["kept"] = None
    return news(steps, row | {"step": lease.step, "token": lease.token})


def _steps(lease: Lease, record: StepRecord | None) -> int:
    """How many steps a run has taken that ends with this lease."""
    return lease.step if record else lease.step - 1


def _close_attempt(tx: Connection, lease: Lease, spent: Spent, event: int) -> None:
    tx.execute(writes.CLOSE_ATTEMPT, {**_closed(spent), **news(attempts, {"event": event}), "mine": lease.token})


def _closed(spent: Spent) -> dict[str, Any]:
    row = {name: getattr(spent, name) for name in ("error", "outcome", "wasted", "reserved_usd")}
    return news(attempts, row | _usage_of(spent))


def _usage_of(spent: Spent) -> dict[str, Any]:
    usage = spent.usage or _NOTHING
    return {
        "prompt_tokens": usage.prompt_tokens, "cached_tokens": usage.cached_tokens,
        "completion_tokens": usage.completion_tokens, "cost_usd": spent.cost_usd,
    }  # fmt: skip


_NOTHING = Usage()
