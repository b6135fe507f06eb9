"""The health of admission: when it last succeeded, what waits for it, and what was set aside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, and_, func, literal, or_, select

from worker.core.states import BatchState
from worker.store.schema.tables import admission, batches, endings
from worker.store.session import NOW, Store

STALE_S = 60.0
"""Admission has stopped if something waits longer than this, in seconds, and no admission succeeds meanwhile."""

Query = Select[*tuple[Any, ...]]

_LAST = select(func.max(admission.c.succeeded_at)).scalar_subquery()
_WAITS = and_(
    batches.c.state == BatchState.OPEN.value, batches.c.sealed, batches.c.paused_reason.is_(None),
    batches.c.watermark < batches.c.total,
)  # fmt: skip
_PENDING = endings.c.aside_until.is_(None)


def _count(table: Any, *which: Any) -> Any:
    return select(func.count()).select_from(table).where(*which).scalar_subquery()


@dataclass(frozen=True, slots=True)
class AdmissionHealth:
    """The state of admission. `problem` is a sentence if admission has stopped, else ""; times are the database's."""

    succeeded_at: float | None
    waiting_batches: int
    pending_endings: int
    set_aside: int
    problem: str


def admission_health(store: Store) -> AdmissionHealth:
    """Reads the state of admission in one statement."""
    counts = (
        _LAST.label("succeeded_at"), _count(batches, _WAITS).label("waiting"), _count(endings, _PENDING).label("ended"),
        _count(endings, ~_PENDING).label("aside"), NOW.label("now"), _STANDS_STILL.label("still"),
    )  # fmt: skip
    with store.read() as tx:
        row = tx.execute(select(*counts)).one()
    problem = ""
    if row.still:
        when = "never" if row.succeeded_at is None else f"{row.now - row.succeeded_at:,.0f} s ago"
        problem = f"Last successful admission: {when}; {row.waiting} batches and {row.ended} ended runs are waiting."
    return AdmissionHealth(row.succeeded_at, row.waiting, row.ended, row.aside, problem)


_STANDS_STILL = and_(
    func.coalesce(_LAST, 0.0) < NOW - STALE_S,
    or_(
        select(batches.c.id).where(_WAITS, batches.c.created_at < NOW - STALE_S).exists(),
        select(endings.c.run_id).where(_PENDING, endings.c.ended_at < NOW - STALE_S).exists(),
    ),
)


def stands_still() -> Query:
    """Selects one row if something waits to be admitted or settled and no admission succeeded for `STALE_S`."""
    seen = (_LAST.label("succeeded_at"), _count(batches, _WAITS).label("waiting"), _count(endings).label("endings"))
    return select(literal("admission").label("id"), *seen).where(_STANDS_STILL)


def endings_aside() -> Query:
    """Selects endings that could not be settled."""
    return select(endings.c.run_id, endings.c.batch_id, endings.c.aside_reason).where(~_PENDING)


def batches_aside() -> Query:
    """Selects batches whose runs could not be admitted."""
    return select(batches.c.id, batches.c.paused_by).where(
        batches.c.state == BatchState.OPEN.value, batches.c.paused_reason == "fault"
    )
