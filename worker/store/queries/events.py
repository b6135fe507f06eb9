"""The events of a run, read from its steps, tool calls and attempts. Several events may share a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from worker.core.states import ENDED, CallState, Outcome
from worker.store.schema.tables import attempts, runs, steps, tool_calls
from worker.store.session import AnyRow, Store

FAILED_OUTCOMES = (Outcome.ERROR, Outcome.TIMEOUT, Outcome.LOST)


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `kind` is `attempt_failed`, `step`, `observation` or `end`; `row` is the row that it describes."""

    number: int
    kind: str
    row: AnyRow
    calls: Sequence[AnyRow] = ()


_ORDER = {"attempt_failed": 0, "step": 1, "observation": 2, "end": 3}


def events_between(store: Store, run: AnyRow, after: int) -> list[Event]:
    """Returns a run's events after the number `after`, up to the event of `run` (read before), in order.

    Numbers are assigned inside the guarded writes, so no smaller number can appear after a larger one was read.
    """
    upper = run.event
    if upper <= after:
        return []
    with store.read() as tx:
        found = [*_failures(tx, run.id, after, upper), *_steps(tx, run.id, after, upper)]
        found += _observations(tx, run.id, after, upper)
    if run.state in ENDED:
        found.append(Event(upper, "end", run))
    return sorted(found, key=lambda e: (e.number, _ORDER[e.kind], getattr(e.row, "call", 0)))


def ended_among(store: Store, batch_id: str, run_ids: Sequence[str]) -> Sequence[AnyRow]:
    """Returns those of these runs that belong to the batch and have ended, in input order."""
    wanted = ("id", "seq", "custom_id", "state", "error_code", "finished_at")
    ended = (runs.c.batch_id == batch_id, runs.c.state.in_([state.value for state in ENDED]))
    query = select(*(runs.c[name] for name in wanted)).where(runs.c.id.in_(run_ids), *ended)
    with store.read() as tx:
        return tx.execute(query.order_by(runs.c.seq)).all()


def _failures(tx: Connection, run_id: str, after: int, upper: int) -> list[Event]:
    query = select(attempts).where(
        attempts.c.run_id == run_id,
        attempts.c.event.between(after + 1, upper),
        attempts.c.outcome.in_([outcome.value for outcome in FAILED_OUTCOMES]),
    )
    return [Event(row.event, "attempt_failed", row) for row in tx.execute(query).all()]


def _steps(tx: Connection, run_id: str, after: int, upper: int) -> list[Event]:
    query = select(steps).where(steps.c.run_id == run_id, steps.c.event.between(after + 1, upper))
    found = tx.execute(query).all()
    numbers = [row.step for row in found]
    called = select(tool_calls).where(tool_calls.c.run_id == run_id, tool_calls.c.step.in_(numbers))
    calls = tx.execute(called.order_by(tool_calls.c.call)).all() if found else []
    return [Event(row.event, "step", row, [call for call in calls if call.step == row.step]) for row in found]


def _observations(tx: Connection, run_id: str, after: int, upper: int) -> list[Event]:
    query = select(tool_calls).where(
        tool_calls.c.run_id == run_id,
        tool_calls.c.event.between(after + 1, upper),
        tool_calls.c.state == CallState.DONE.value,
    )
    return [Event(row.event, "observation", row) for row in tx.execute(query).all()]
