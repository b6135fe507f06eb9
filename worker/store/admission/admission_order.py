"""The stored order of admission: virtual times and clocks of owners and batches, read and saved in bulk."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, bindparam, insert, select, update

from worker.core.fairness import DEFAULT_STEPS, Claimant, Level, choose
from worker.core.states import Klass
from worker.store.schema.tables import admission, batches, owners
from worker.store.session import NOW, AnyRow

SlotsTaken = Mapping[str, int]
"""Slots of the hot set that each batch holds, by batch id."""


def load_order(
    tx: Connection, everything: Sequence[AnyRow], eligible: Sequence[AnyRow], held: SlotsTaken, most: Mapping[str, int]
) -> Order:
    """Loads the order of all open batches, some of which are eligible. Needs the admitters' lock.

    `most` bounds how many runs of a batch may be admitted now if its budget does not cover all that wait.
    """
    owner_rows = {row.id: row for row in tx.execute(select(owners)).all()} if everything else {}
    state = tx.execute(select(admission.c.clock, admission.c.turn)).one_or_none()
    if state is None:
        tx.execute(insert(admission).values(id=1, clock=0.0, turn=0))
    clock, turn = (state.clock, state.turn) if state else (0.0, 0)
    return Order(owner_rows, everything, eligible, held, most, clock, turn)


class Order:
    """The two levels of the order, owners and batches, built from rows; only changed rows are saved."""

    def __init__(
        self,
        owner_rows: dict[str, AnyRow],
        all_batches: Iterable[AnyRow],
        eligible: Sequence[AnyRow],
        held: SlotsTaken,
        most: Mapping[str, int],
        clock: float,
        turn: int,
    ) -> None:
        self.turn, self.held, self.most = turn, held, most
        self.rows = {row.id: row for row in all_batches}
        self.owner_rows = owner_rows
        self.eligible = {row.id for row in eligible}
        self._owner_held: dict[tuple[str, str], int] = defaultdict(int)
        for row in self.rows.values():
            self._owner_held[row.owner_id, row.klass] += held.get(row.id, 0)
        by_owner: dict[str, list[AnyRow]] = defaultdict(list)
        for row in eligible:
            by_owner[row.owner_id].append(row)
        self.levels = {i: self._level(i, rows) for i, rows in by_owner.items()}
        costs = {i: max(c.cost for c in level.claimants.values()) for i, level in self.levels.items()}
        owners = {i: Claimant(i, owner_rows[i].vtime, owner_rows[i].weight, costs[i]) for i in by_owner}
        self.owners = Level(clock, owners)
        self.owners.mend()
        self.owners.raise_to_present(i for i in by_owner if not owner_rows[i].eligible)
        self.owners.shorten_leash()

    def _level(self, owner: str, rows: list[AnyRow]) -> Level:
        claimants = {
            r.id: Claimant(
                r.id, r.vtime, r.weight, r.steps_per_run or DEFAULT_STEPS,
                self.most.get(r.id, r.total - r.watermark), held=self.held.get(r.id, 0),
            )
            for r in rows
        }  # fmt: skip
        level = Level(self.owner_rows[owner].clock, claimants)
        level.mend()
        level.raise_to_present(r.id for r in rows if not r.eligible)
        level.shorten_leash()
        return level

    def choose(self, klass: Klass, slots: int) -> list[str]:
        """Chooses batches of one class, once per slot. Both classes share the virtual times."""
        if slots <= 0:
            return []
        narrowed = {}
        for owner, level in self.levels.items():
            mine = {i: c for i, c in level.claimants.items() if self.rows[i].klass == klass}
            narrowed[owner] = Level(level.clock, mine)
            self.owners.claimants[owner].held = self._owner_held[owner, klass]
        chosen = choose(self.owners, narrowed, slots)
        for owner, level in narrowed.items():
            self.levels[owner].clock = level.clock
        return chosen

    def refund(self, batch_id: str, count: int) -> None:
        """Takes back the charge for runs that turned out not to exist."""
        owner = self.rows[batch_id].owner_id
        batch, owner_claimant = self.levels[owner].claimants[batch_id], self.owners.claimants[owner]
        batch.vtime -= count * batch.cost / batch.weight
        owner_claimant.vtime -= count * batch.cost / owner_claimant.weight

    def save(self, tx: Connection, turn: int) -> None:
        tx.execute(update(admission).values(clock=self.owners.clock, turn=turn, succeeded_at=NOW))
        claimants = [c for level in self.levels.values() for c in level.claimants.values()]
        moved = [{"key": c.id, "at": c.vtime, "on": True} for c in claimants if c.vtime != self.rows[c.id].vtime]
        moved += [
            {"key": row.id, "at": row.vtime, "on": False}
            for row in self.rows.values() if row.eligible and row.id not in self.eligible
        ]  # fmt: skip
        seen = {m["key"] for m in moved}
        moved += [
            {"key": i, "at": self.rows[i].vtime, "on": True}
            for i in self.eligible if i not in seen and not self.rows[i].eligible
        ]  # fmt: skip
        if moved:
            tx.execute(_SAVE_BATCH, moved)
        self._save_owners(tx)

    def _save_owners(self, tx: Connection) -> None:
        moved = []
        for row in self.owner_rows.values():
            claimant, level = self.owners.claimants.get(row.id), self.levels.get(row.id)
            new = (claimant.vtime, level.clock, True) if claimant and level else (row.vtime, row.clock, False)
            if new != (row.vtime, row.clock, row.eligible):
                moved.append({"key": row.id, "at": new[0], "clock_at": new[1], "on": new[2]})
        if moved:
            tx.execute(_SAVE_OWNER, moved)


_SAVE_BATCH = (
    update(batches).where(batches.c.id == bindparam("key")).values(vtime=bindparam("at"), eligible=bindparam("on"))
)
_SAVE_OWNER = (
    update(owners)
    .where(owners.c.id == bindparam("key"))
    .values(vtime=bindparam("at"), clock=bindparam("clock_at"), eligible=bindparam("on"))
)
