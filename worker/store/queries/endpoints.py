"""Reading model endpoints: those on record, which of them are paused, and how many runs wait for each."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, or_, select

from worker.core.remedies import OPERATORS
from worker.core.states import Parked
from worker.store.control.endpoints import remedy_of
from worker.store.hot.parked import parked_for_model
from worker.store.schema.tables import endpoints
from worker.store.session import NOW, Store


@dataclass(frozen=True, slots=True)
class EndpointState:
    """The stored state of one endpoint.

    `retry_in_s` None: only a person reopens it. `needs_operator`: it is probed, but an operator must act.
    """

    endpoint_id: str
    base_url: str
    model: str
    reason: str | None = None
    paused_by: str | None = None
    retry_in_s: float | None = None
    waiting_runs: int = 0
    needs_operator: bool = False
    remedy: str | None = None
    """What a person must do while it is paused."""


def endpoint_states(store: Store) -> dict[str, EndpointState]:
    """Returns every endpoint on record, by id."""
    waiting = (select(func.count()).where(parked_for_model(endpoints.c.id)).correlate(endpoints)).scalar_subquery()
    query = select(endpoints, waiting.label("waiting"), NOW.label("now"))
    with store.read() as tx:
        rows = tx.execute(query).all()
    found = {}
    for row in rows:
        by_hand = row.paused_by not in (None, "stepmill")
        again = None if by_hand or row.paused_reason is None else (row.paused_until or row.probe_at)
        retry_in_s = None if again is None else round(max(0.0, again - row.now), 3)
        found[row.id] = EndpointState(
            row.id,
            row.base_url,
            row.model,
            row.paused_reason,
            row.paused_by,
            retry_in_s,
            row.waiting,
            row.paused_reason is not None and (row.paused_until is None or row.paused_kind in OPERATORS),
            remedy_of(row) if row.paused_reason is not None else None,
        )
    return found


def needs_operator(store: Store, parked: str | None, target: str | None) -> bool:
    """Returns whether a run is parked for a pause without an end: a wrong key, an unknown model, a pause by hand."""
    if parked != Parked.MODEL:
        return False
    query = select(endpoints.c.id).where(
        endpoints.c.id == target,
        endpoints.c.paused_reason.is_not(None),
        or_(endpoints.c.paused_until.is_(None), endpoints.c.paused_kind.in_(OPERATORS)),
    )
    with store.read() as tx:
        return tx.execute(query).first() is not None
