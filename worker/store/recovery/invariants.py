"""Conditions that must always hold in the store: small read-only checks for the sweeper, `doctor` and tests.

Each check is one statement over the hot table or over batches; it finds violations and repairs nothing. It reads a
single snapshot, so that concurrent writes do not look like violations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, and_, case, exists, func, or_, select
from sqlalchemy.sql import ColumnElement

from worker.core.states import ENDED, BatchState, CallState, Phase, RunState
from worker.store.queries.admission import batches_aside, endings_aside, stands_still
from worker.store.schema.tables import active, attempts, batches, endings, runs, tool_calls
from worker.store.session import NOW, Store

Query = Select[*tuple[Any, ...]]


ROUNDING_USD = 1e-6
LATELY_S = 3600.0
COUNTED = ("prompt_tokens", "completion_tokens", "wasted_tokens", "wasted_attempts", "unpriced", "attempts")
"""Integer sums, which must match exactly; they are added up, so that one pass over the runs is enough."""


@dataclass(frozen=True, slots=True)
class Invariant:
    """One check. `query` selects the violations: an id in the first column, and the values found there."""

    name: str
    says: str
    query: Callable[[], Query]


@dataclass(frozen=True, slots=True)
class Violation:
    """One row that violates an invariant."""

    name: str
    says: str
    subject: str
    """The id of the run or batch."""
    seen: dict[str, Any]


_CALLS = and_(tool_calls.c.run_id == active.c.run_id, tool_calls.c.step == active.c.step)


def _calls(*which: ColumnElement[bool]) -> Any:
    return select(func.count()).select_from(tool_calls).where(_CALLS, *which).correlate(active).scalar_subquery()


def _ended_in_motion() -> Query:
    return (
        select(active.c.run_id, runs.c.state)
        .outerjoin(runs, runs.c.id == active.c.run_id)
        .where(or_(runs.c.state.is_(None), runs.c.state != RunState.ACTIVE.value))
    )


def _active_at_rest() -> Query:
    return select(runs.c.id, runs.c.state).where(
        runs.c.batch_id.in_(select(batches.c.id).where(batches.c.finished_at.is_(None), batches.c.sealed)),
        runs.c.state == RunState.ACTIVE.value,
        ~exists().where(active.c.run_id == runs.c.id),
    )


def _no_next_event() -> Query:
    thinking = and_(
        active.c.phase.in_([Phase.THINK.value, Phase.WAIT.value]),
        or_(active.c.sent_at.is_not(None), active.c.token.is_not(None)),
    )
    acting = and_(active.c.phase == Phase.ACT.value, active.c.token.is_(None), active.c.pending > 0)
    waiting = active.c.parked.is_not(None)
    return select(active.c.run_id, active.c.phase, active.c.step, active.c.pending).where(
        ~or_(thinking, acting, and_(waiting, active.c.phase != Phase.ACT.value))
    )


def _half_a_lease() -> Query:
    parts = [active.c.token, active.c.worker_id, active.c.lease_until]
    given = sum(
        (case((part.is_not(None), 1), else_=0) for part in parts[1:]), case((parts[0].is_not(None), 1), else_=0)
    )
    unknown = and_(active.c.token.is_not(None), ~exists().where(attempts.c.token == active.c.token))
    return select(active.c.run_id, active.c.token, active.c.worker_id).where(or_(given.not_in([0, 3]), unknown))


def _pending_differs() -> Query:
    out = _calls(tool_calls.c.state != CallState.DONE.value)
    expected = case((active.c.phase == Phase.ACT.value, out), else_=0)
    return select(active.c.run_id, active.c.step, active.c.pending, out.label("calls_out")).where(
        active.c.pending != expected
    )


def _done_without_observation() -> Query:
    done = and_(tool_calls.c.state == CallState.DONE.value, tool_calls.c.observation.is_(None))
    claimed = and_(tool_calls.c.state == CallState.RUNNING.value, tool_calls.c.token.is_(None))
    return (
        select(tool_calls.c.run_id, tool_calls.c.step, tool_calls.c.call, tool_calls.c.state)
        .select_from(active)
        .join(tool_calls, _CALLS)
        .where(or_(done, claimed))
    )


def _worked_on_twice() -> Query:
    return (
        select(attempts.c.run_id, attempts.c.step, attempts.c.call, func.count().label("open"))
        .join(active, active.c.run_id == attempts.c.run_id)
        .where(attempts.c.ended_at.is_(None))
        .group_by(attempts.c.run_id, attempts.c.step, attempts.c.call)
        .having(func.count() > 1)
    )


def _open_after_the_end() -> Query:
    return (
        select(attempts.c.run_id, attempts.c.step, attempts.c.call, runs.c.state)
        .join(runs, runs.c.id == attempts.c.run_id)
        .join(endings, endings.c.run_id == runs.c.id)
        .where(attempts.c.ended_at.is_(None), runs.c.state.in_([state.value for state in ENDED]))
    )


def _counters_differ() -> Query:
    settled = batches.c.succeeded + batches.c.failed + batches.c.cancelled
    unsettled = _of_batch(endings)
    ended = _of_batch(runs, runs.c.state.in_([state.value for state in ENDED]))
    everything = _of_batch(runs)
    columns = [batches.c.id, batches.c.total, settled.label("settled"), unsettled.label("unsettled")]
    return select(*columns, ended.label("ended"), everything.label("runs")).where(
        batches.c.sealed, _unfinished(), or_(settled + unsettled != ended, batches.c.total != everything)
    )


def _left_behind() -> Query:
    """A queued run at or before the watermark would wait forever."""
    return (
        select(runs.c.id, runs.c.seq, batches.c.watermark)
        .join(batches, batches.c.id == runs.c.batch_id)
        .where(_unfinished(), batches.c.state == BatchState.OPEN.value)
        .where(runs.c.seq <= batches.c.watermark, runs.c.state == RunState.QUEUED.value)
    )


def _over_allotment() -> Query:
    used = active.c.cost_usd + active.c.reserved_usd
    return select(active.c.run_id, used.label("used_usd"), active.c.allotment_usd).where(
        used > active.c.allotment_usd + ROUNDING_USD
    )


def _over_budget() -> Query:
    used = batches.c.cost_usd + batches.c.reserved_usd + batches.c.carried_usd
    return select(batches.c.id, used.label("used_usd"), batches.c.budget_usd).where(
        batches.c.sealed, used > batches.c.budget_usd + ROUNDING_USD
    )


def _sums_differ() -> Query:
    """Also checks batches that ended recently: a fenced-out worker may report long after."""
    lately = or_(_unfinished(), batches.c.finished_at > NOW - LATELY_S)
    ended = runs.c.state.in_([state.value for state in ENDED])
    batch, theirs = _counted(batches) + _total(endings), _total(runs, ended)
    query = select(batches.c.id, batch.label("batch_and_unsettled"), theirs.label("runs"))
    return query.where(batches.c.sealed, lately, batch != theirs)


def _counted(table: Any) -> Any:
    return sum((table.c[name] for name in COUNTED[1:]), table.c[COUNTED[0]])


def _total(table: Any, *which: ColumnElement[bool]) -> Any:
    summed = select(func.coalesce(func.sum(_counted(table)), 0)).where(table.c.batch_id == batches.c.id, *which)
    return summed.correlate(batches).scalar_subquery()


def _unfinished() -> ColumnElement[bool]:
    return batches.c.finished_at.is_(None)


def _of_batch(table: Any, *which: ColumnElement[bool]) -> Any:
    mine = table.c.batch_id == batches.c.id
    return select(func.count()).select_from(table).where(mine, *which).correlate(batches).scalar_subquery()


HOT = (
    Invariant("ended_in_motion", "Only runs whose state is active are in the hot set.", _ended_in_motion),
    Invariant("no_next_event", "Each run in the hot set has something that will move it on.", _no_next_event),
    Invariant("half_a_lease", "A lease has token, worker and deadline, and its attempt is on record.", _half_a_lease),
    Invariant("pending_differs", "A step's calls without observation are as many as it counts.", _pending_differs),
    Invariant("call_without_result", "A finished call has its observation, a running one its token.",
              _done_without_observation),
    Invariant("worked_on_twice", "No two attempts at the same work are open at once.", _worked_on_twice),
    Invariant("over_allotment", "No run uses more than it was allotted of its batch's budget.", _over_allotment),
    Invariant("open_after_the_end", "No attempt is open after its run has ended.", _open_after_the_end),
)  # fmt: skip
"""Cheap checks: they read only the hot set and rows joined to it."""

COLD = (
    Invariant("active_at_rest", "Each active run is in the hot set.", _active_at_rest),
    Invariant("counters_differ", "A batch's counters and unsettled ends add up to its ended runs.", _counters_differ),
    Invariant("sums_differ", "A batch's sums and unsettled ends add up to its ended runs' sums.", _sums_differ),
    Invariant("over_budget", "No batch uses more than its budget.", _over_budget),
    Invariant("left_behind", "No queued run lies behind its batch's watermark.", _left_behind),
)
"""Expensive checks, for `doctor` and tests: they read all runs of unfinished batches."""

STANDS_STILL = Invariant(
    "admission_stopped", "While something waits to be admitted or settled, admissions go through.", stands_still
)
SET_ASIDE = (
    Invariant("ending_set_aside", "Each ended run can be settled.", endings_aside),
    Invariant("batch_set_aside", "Each open batch can be admitted.", batches_aside),
)
"""Cheap checks of past failures: what they find is not news to a worker that has just started."""

ALL = (*HOT, STANDS_STILL, *SET_ASIDE, *COLD)


def check(store: Store, limit: int = 20, invariants: tuple[Invariant, ...] = ALL) -> list[Violation]:
    """Returns the violations, up to `limit` of each invariant. Only reads."""
    found = []
    for invariant in invariants:
        with store.read() as tx:
            rows = tx.execute(invariant.query().limit(limit)).all()
        found += [_violation(invariant, dict(row._mapping)) for row in rows]
    return found


def _violation(invariant: Invariant, seen: dict[str, Any]) -> Violation:
    subject = next(iter(seen.values()))
    return Violation(invariant.name, invariant.says, str(subject), seen)
