"""How requests to an endpoint must differ from the usual ones: shared by the fleet, forgotten after a day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite

from worker.core.records import Adaptation
from worker.store.schema.tables import learned
from worker.store.session import NOW, Store

FORGET_AFTER_S = 86_400.0
"""Endpoints change, so after a day the usual request is tried again."""


@dataclass(frozen=True, slots=True)
class Learned:
    """One adaptation, and the seconds until it is forgotten."""

    adaptation: Adaptation
    forgotten_in_s: float


def all_learned(store: Store) -> dict[str, tuple[Learned, ...]]:
    """Returns all adaptations by endpoint id, in a fixed order."""
    query = (
        select(learned, NOW.label("now"))
        .where(learned.c.learned_at > NOW - FORGET_AFTER_S)
        .order_by(learned.c.endpoint_id, learned.c.feature)
    )
    with store.read() as tx:
        rows = tx.execute(query).all()
    found: dict[str, tuple[Learned, ...]] = {}
    for row in rows:
        adaptation = Adaptation(row.feature, row.value, row.said)
        left_s = max(0.0, row.learned_at + FORGET_AFTER_S - row.now)
        found[row.endpoint_id] = (*found.get(row.endpoint_id, ()), Learned(adaptation, left_s))
    return found


def learn(store: Store, endpoint_id: str, adaptations: Sequence[Adaptation]) -> None:
    """Stores adaptations that helped, replacing earlier ones of the same feature; deletes expired ones."""
    upsert = postgresql.insert if store.postgres else sqlite.insert
    with store.write() as tx:
        tx.execute(delete(learned).where(learned.c.learned_at <= NOW - FORGET_AFTER_S))
        for one in sorted(adaptations, key=lambda one: one.feature):
            what = {"value": one.value, "said": one.said, "learned_at": NOW}
            new = upsert(learned).values(endpoint_id=endpoint_id, feature=one.feature, **what)
            tx.execute(new.on_conflict_do_update(index_elements=["endpoint_id", "feature"], set_=what))


def forget(store: Store, endpoint_id: str) -> int:
    """Deletes an endpoint's adaptations and returns how many there were. Workers notice within seconds."""
    with store.write() as tx:
        return tx.execute(delete(learned).where(learned.c.endpoint_id == endpoint_id)).rowcount
