"""Applies: the guarded writes with which work ends. Each returns what followed, or None: fenced out.

All filter on the lease's token, so that an apply whose commit's answer was lost can be repeated: it lands once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, bindparam, select

from worker.core.bells import Bell
from worker.core.moves import CallChange, CallView, End, Hot, Move, NewCall
from worker.core.records import JsonObject, Usage
from worker.core.states import QUEUE_QUARANTINE, CallState, Outcome, Phase, think_queue
from worker.store import writes
from worker.store.claims import Lease, hot_of
from worker.store.endings import end_run, stop_attempts
from worker.store.session import NOW, AnyRow, Store
from worker.store.tables import attempts
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
    usage = spent.usage or Usage()
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


def _with_bounds(tx: Connection, lease: Lease, spent: Spent) -> Spent:
    """Adds what the attempt's own row tells of waste and of unknown usage; the usual attempt needs no look at it."""
    unknown = spent.billed and spent.usage is None
    if not (spent.wasted or unknown):
        return spent
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
    with store.write() as tx:
        spent = _with_bounds(tx, lease, spent)
        if isinstance(decision, End):
            row = tx.execute(writes.LEAVE_UNDER_LEASE, {"run": lease.run_id, "mine": lease.token}).one_or_none()
        else:
            row = _move(tx, decision, lease.run_id, lease.token, spent, guarded=True)
        if row is None:
            tx.rollback()
            return None
        event = row.event + 1 if isinstance(decision, End) else row.event
        if record is not None:
            _write_step(tx, lease, record, spent, event)
        _close_attempt(tx, lease, spent, event)
        if isinstance(decision, End):
            end_run(tx, row, decision, sums_of(spent), event, lease.step if record else lease.step - 1)
            return Applied(ended=True)
        return Applied(_follow(tx, row, decision, lease.step))


def apply_call(
    store: Store, lease: Lease, decide: Callable[[Hot, CallView], CallChange], spent: Spent
) -> Applied | None:
    """Ends a tool call's attempt. `decide(hot, view) -> CallChange` is asked under the lock of the hot row.

    The hot row is locked first, so that of two finishers of a step's last two calls the second sees the first.
    """
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
    row = _move(tx, move, hot.run_id, hot.applied_token, spent, guarded=False)
    if row is None:
        raise RuntimeError(f"The hot row of {hot.run_id} vanished under its lock.")
    if change.run is not None:
        return Applied(_follow(tx, row, move, hot.step))
    if done:
        return Applied()
    queue = QUEUE_QUARANTINE if change.changes.get("quarantined") else call.queue
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


def _move(tx: Connection, move: Move, run_id: str, token: str | None, spent: Spent, guarded: bool) -> AnyRow | None:
    added = {name: amount for name, amount in sums_of(spent).items() if amount}
    changed = dict(move.changes)
    values = {**news(changed), **{f"add_{name}": amount for name, amount in added.items()}, "run": run_id}
    values["new_applied_token"] = token
    if "phase" in changed:
        values["due_in"] = move.due_in_s
    if guarded:
        values["mine"] = token
    return tx.execute(writes.move(tuple(sorted(changed)), tuple(added), guarded), values).one_or_none()


def _follow(tx: Connection, row: AnyRow, move: Move, step: int) -> tuple[Bell, ...]:
    """Stores the calls that begin, and says which doorbells to ring."""
    if move.calls:
        tx.execute(writes.NEW_CALL, [news(_new_call(row, step, n, call)) for n, call in enumerate(move.calls, 1)])
    if row.phase == Phase.ACT:
        todo = [(n, call) for n, call in enumerate(move.calls, 1) if call.observation is None and not call.held]
        return tuple(Bell(row.run_id, step, n, 1, call.queue, call.tool) for n, call in todo)
    if move.changes.get("parked"):
        return ()
    queue = think_queue(row.klass, row.quarantined)
    return (Bell(row.run_id, row.step, 0, row.attempt, queue, due_in_s=move.due_in_s),)


def _new_call(row: AnyRow, step: int, number: int, call: NewCall) -> dict[str, Any]:
    done = call.observation is not None
    return {
        "run_id": row.run_id, "step": step, "call": number, "tool": call.tool, "args": dict(call.args),
        "queue": call.queue, "call_id": call.call_id, "observation": call.observation, "event": row.event,
        "held": call.held,
        "state": CallState.DONE.value if done else CallState.PENDING.value,
        "outcome": Outcome.ERROR.value if done else None,
    }  # fmt: skip


def _change_call(tx: Connection, call: AnyRow, change: CallChange, done: bool, event: int) -> None:
    changes = dict(change.changes)
    if changes.get("quarantined"):
        changes |= {"queue": QUEUE_QUARANTINE, "claimed_sent_at": None}
    values = {**news(changes), "run": call.run_id, "at": call.step, "nth": call.call}
    values |= {"new_event": event} if done else {"due_in": change.due_in_s}
    tx.execute(writes.change_call(tuple(sorted(changes)), done), values)


def _write_step(tx: Connection, lease: Lease, record: StepRecord, spent: Spent, event: int) -> None:
    row = {name: getattr(record, name) for name in StepRecord.__slots__} | _usage_of(spent)
    if row["kept"] == row["reply"]:
        row["kept"] = None
    row |= {"run_id": lease.run_id, "step": lease.step, "token": lease.token, "event": event}
    tx.execute(writes.STEP, news(row))


def _close_attempt(tx: Connection, lease: Lease, spent: Spent, event: int) -> None:
    row = {name: getattr(spent, name) for name in ("error", "outcome", "wasted", "reserved_usd")} | _usage_of(spent)
    tx.execute(writes.CLOSE_ATTEMPT, {**news(row), "new_event": event, "mine": lease.token})


def _usage_of(spent: Spent) -> dict[str, Any]:
    return {**asdict(spent.usage or Usage()), "cost_usd": spent.cost_usd}
