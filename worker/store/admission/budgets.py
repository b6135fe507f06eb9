"""Budgets of batches for the admitter: what is left, what each next run may use, and which batches must pause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, select, update

from worker.core.budget import Purse, allotments
from worker.store.schema.tables import active, batches, endings
from worker.store.session import AnyRow

Shares = Mapping[str, Sequence[float]]
"""For each batch with a budget, US dollars for each of its next runs, as many as the money covers."""

BUDGET_COLUMNS = (
    batches.c.budget_usd, batches.c.first_call_usd, batches.c.carried_usd, batches.c.cost_usd, batches.c.reserved_usd,
    batches.c.succeeded, batches.c.failed,
)  # fmt: skip


def shares(tx: Connection, eligible: Sequence[AnyRow], slots: int) -> Shares:
    """Returns what the next runs of each eligible batch with a budget may use. Needs the admitters' lock.

    Pauses a batch whose budget covers no further run when none of its runs is active or unsettled.
    """
    rows = [row for row in eligible if row.budget_usd is not None]
    if not rows:
        return {}
    out = {row.id: row for row in tx.execute(_still_out([row.id for row in rows])).all()}
    found = {row.id: allotments(_purse(row, out[row.id]), max(1, slots)) for row in rows}
    spent = [batch for batch, given in found.items() if not given and not out[batch].moving]
    if spent:
        pausing = update(batches).where(batches.c.id.in_(spent), batches.c.paused_reason.is_(None))
        tx.execute(pausing.values(paused_reason="budget", paused_by="stepmill"))
    return found


def _still_out(ids: list[str]) -> Select[*tuple[Any, ...]]:
    """Selects allotments of active runs and costs of unsettled endings in one snapshot, so each run counts once."""
    allotted = select(func.coalesce(func.sum(active.c.allotment_usd), 0.0)).where(active.c.batch_id == batches.c.id)
    cost = func.coalesce(func.sum(endings.c.cost_usd + endings.c.reserved_usd), 0.0)
    unsettled = select(cost).where(endings.c.batch_id == batches.c.id)
    hot = select(func.count()).select_from(active).where(active.c.batch_id == batches.c.id)
    ended = select(func.count()).select_from(endings).where(endings.c.batch_id == batches.c.id)
    return select(
        batches.c.id,
        (allotted.scalar_subquery() + unsettled.scalar_subquery()).label("usd"),
        (hot.scalar_subquery() + ended.scalar_subquery()).label("moving"),
    ).where(batches.c.id.in_(ids))


def _purse(row: AnyRow, out: AnyRow) -> Purse:
    settled = row.cost_usd + row.reserved_usd
    return Purse(
        budget_usd=row.budget_usd,
        committed_usd=settled + row.carried_usd + out.usd,
        call_usd=row.first_call_usd,
        waiting=row.total - row.watermark,
        ended=row.succeeded + row.failed,
        ended_usd=settled,
    )


def give(tx: Connection, picked: Sequence[AnyRow], given: Shares) -> None:
    """Writes the allotments of runs that have just become active, added to what they used before a retry."""
    next_of = {batch: iter(shares) for batch, shares in given.items()}
    allotted = [
        {"key": row.id, "usd": row.cost_usd + row.reserved_usd + next(next_of[row.batch_id])}
        for row in picked if row.batch_id in next_of
    ]  # fmt: skip
    if allotted:
        tx.execute(_GIVE, allotted)
    before = [{"key": row.batch_id, "usd": used} for row in picked if (used := row.cost_usd + row.reserved_usd)]
    if before:
        tx.execute(_NO_LONGER_CARRIED, sorted(before, key=lambda one: str(one["key"])))


_GIVE = update(active).where(active.c.run_id == bindparam("key")).values(allotment_usd=bindparam("usd"))
_NO_LONGER_CARRIED = (
    update(batches).where(batches.c.id == bindparam("key")).values(carried_usd=batches.c.carried_usd - bindparam("usd"))
)
