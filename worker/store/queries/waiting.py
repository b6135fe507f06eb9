"""Explains in a sentence why a run or a batch's runs wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import and_, func, select

from worker.core.states import BatchState, CallState, Parked, Phase, RunState
from worker.store.schema.tables import active, tool_calls
from worker.store.session import NOW, AnyRow, Store

PAUSES = {
    "hand": "it was paused by hand",
    "failures": "too many of its runs failed",
    "budget": "its budget is used up",
    "fault": "none of its runs could be admitted; the logs of workers and API say why",
}


@dataclass(frozen=True, slots=True)
class Reason:
    """A sentence, and how many runs of a batch it applies to."""

    sentence: str
    runs: int


def why_run(store: Store, run: AnyRow, serving: Mapping[str, int]) -> str | None:
    """Returns why a run is not being worked on right now; None: it is, or it has ended.

    `run` comes from `worker.store.queries.runs.get_run`; `serving` is how many workers each queue has.
    """
    if run.state == RunState.QUEUED:
        return _why_queued(run)
    if run.state != RunState.ACTIVE or run.phase is None:
        return None
    if run.paused:
        return f"The run is paused; `stepmill run resume {run.id}` lets it go on."
    if run.paused_reason is not None:
        return _batch_paused(run.batch_id, run.paused_reason)
    if run.parked is not None:
        return _parked(run.parked, run.wait_reason)
    if run.phase == Phase.ACT:
        return _why_calls(store, run, serving)
    if run.token is not None:
        return _overdue(run) if run.lease_until < run.now else None
    return _why_unclaimed("model call", run.queue, run, run.now, serving)


def _why_queued(run: AnyRow) -> str:
    if not run.sealed:
        return "Its batch is still being submitted."
    if run.batch_state == BatchState.CANCELLED:
        return "Its batch was cancelled; the run ends in a moment."
    if run.paused_reason is not None:
        return _batch_paused(run.batch_id, run.paused_reason)
    if run.paused:
        return f"The run is paused; `stepmill run resume {run.id}` lets it go on."
    ahead = max(0, run.seq - run.watermark - 1)
    first = "It is the next of its batch" if not ahead else f"It is number {ahead + 1} of its batch in the queue"
    return f"{first}; it is admitted when slots come free."


def _batch_paused(batch_id: str, reason: str) -> str:
    if reason == "budget":
        more = f"`stepmill batch resume {batch_id} --budget USD` raises it."
        return f"Its batch is paused, since {PAUSES[reason]}; {more}"
    return f"Its batch is paused, since {PAUSES.get(reason, reason)}; `stepmill batch resume {batch_id}` lets it go on."


def _parked(parked: str, reason: str | None) -> str:
    if parked == Parked.READY:
        return "What it waited for has come; it goes on when a slot comes free."
    if parked == Parked.PAUSED:
        return "It was paused and has given its slot to others; it is about to take one again."
    return f"{_sentence(reason or parked)} It has given its slot to others meanwhile."


def _overdue(run: AnyRow) -> str:
    return f"Its worker {run.worker_id} has not answered within its time; another takes over in a moment."


def _why_calls(store: Store, run: AnyRow, serving: Mapping[str, int]) -> str | None:
    """Explains the first open call of a step; None if any call is being worked on."""
    query = (
        select(tool_calls, NOW.label("now"))
        .where(tool_calls.c.run_id == run.id, tool_calls.c.step == run.step)
        .where(tool_calls.c.state != CallState.DONE.value)
        .order_by(tool_calls.c.call)
    )
    with store.read() as tx:
        calls = tx.execute(query).all()
    if not calls or any(call.state == CallState.RUNNING and call.lease_until >= call.now for call in calls):
        return None
    call = calls[0]
    if call.state == CallState.RUNNING:
        return _overdue(call)
    return _why_unclaimed(f"call of {call.tool}", call.queue, call, call.now, serving)


def _why_unclaimed(what: str, queue: str, row: Any, now: float, serving: Mapping[str, int]) -> str:
    if row.due_at > now:
        at = datetime.fromtimestamp(row.due_at, UTC).strftime("%H:%M:%S")
        return f"{_sentence(row.wait_reason or 'It waits for its turn')} Its {what} is due at {at} UTC."
    if not serving.get(queue):
        return f"Its {what} waits, since no worker serves {queue}; start one with `stepmill worker --queues {queue}`."
    return f"Its {what} waits in {queue} for a free worker, for {max(0.0, now - row.due_at):.0f} s now."


def _sentence(text: str) -> str:
    text = text.strip()
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def why_batch(store: Store, batch: AnyRow, serving: Mapping[str, int]) -> list[Reason]:
    """Returns what the runs of an open batch wait for, most frequent first."""
    queued = batch.total - batch.succeeded - batch.failed - batch.cancelled - batch.active
    found: list[Reason] = []
    if batch.state != BatchState.OPEN:
        return found
    if batch.paused_reason is not None:
        return [Reason(_batch_paused(batch.id, batch.paused_reason), queued + batch.active)]
    if queued > 0:
        found.append(Reason("They are queued; they are admitted when slots come free.", queued))
    found += _hot_reasons(store, batch.id, serving)
    return sorted(found, key=lambda reason: -reason.runs)


def _hot_reasons(store: Store, batch_id: str, serving: Mapping[str, int]) -> list[Reason]:
    later = (active.c.due_at > NOW).label("later")
    columns = (active.c.queue, active.c.parked, active.c.paused, active.c.wait_reason, later)
    thinking = (
        select(*columns, func.count().label("n"))
        .where(active.c.batch_id == batch_id, active.c.phase != Phase.ACT.value, active.c.token.is_(None))
        .group_by(*columns[:4], later)
        .limit(100)
    )
    acting = (
        select(tool_calls.c.queue, func.count(active.c.run_id.distinct()).label("n"))
        .join(active, and_(active.c.run_id == tool_calls.c.run_id, active.c.step == tool_calls.c.step))
        .where(active.c.batch_id == batch_id, active.c.phase == Phase.ACT.value, active.c.parked.is_(None))
        .where(tool_calls.c.state == CallState.PENDING.value)
        .group_by(tool_calls.c.queue)
    )
    held = (
        select(active.c.parked, active.c.wait_reason, func.count().label("n"))
        .where(active.c.batch_id == batch_id, active.c.phase == Phase.ACT.value, active.c.parked.is_not(None))
        .group_by(active.c.parked, active.c.wait_reason)
        .limit(100)
    )
    with store.read() as tx:
        found = [Reason(_why_thinking(row, serving), row.n) for row in tx.execute(thinking).all()]
        found += [Reason(_parked(row.parked, row.wait_reason), row.n) for row in tx.execute(held).all()]
        found += [Reason(_why_queue("tool call", row.queue, serving), row.n) for row in tx.execute(acting).all()]
    return found


def _why_thinking(row: AnyRow, serving: Mapping[str, int]) -> str:
    if row.paused:
        return "They are paused."
    if row.parked is not None:
        return _parked(row.parked, row.wait_reason)
    if row.later:
        return _sentence(row.wait_reason or "They wait for their turn")
    return _why_queue("model call", row.queue, serving)


def _why_queue(what: str, queue: str, serving: Mapping[str, int]) -> str:
    if not serving.get(queue):
        return f"Their {what} waits, since no worker serves {queue}; start one with `stepmill worker --queues {queue}`."
    return f"Their {what} waits in {queue} for a free worker."
