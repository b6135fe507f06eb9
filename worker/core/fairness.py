"""Who is admitted next: start-time fair queueing over owners, and inside each owner over its batches.

Every owner and every batch has a virtual time, charged with steps ÷ weight. The lowest goes next. The clock of a level
is the virtual time of whoever was served last; one that becomes eligible again is raised to it, so that no credit is
stored while it is paused or has nothing queued. (Goyal, Vin and Cheng, "Start-time Fair Queuing", 1996.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

DEFAULT_STEPS = 3.0
"""What a run is charged at its admission while nothing is known of its batch."""

BATCH_SHARE = 4
"""Of the admissions for which both classes compete, one in this many goes to the lower class."""


@dataclass(slots=True)
class Claimant:
    """An owner or a batch in the order. `queued` bounds how many runs a batch may be given."""

    id: str
    vtime: float
    weight: float = 1.0
    cost: float = DEFAULT_STEPS
    """Steps that one run is expected to take."""
    queued: int = 0
    taken: int = 0


@dataclass(slots=True)
class Level:
    """One level of the order: its claimants and its clock."""

    clock: float = 0.0
    claimants: dict[str, Claimant] = field(default_factory=dict)

    def raise_to_present(self, ids: Iterable[str]) -> None:
        """Those that became eligible again store no credit."""
        for claimant in (self.claimants[i] for i in ids):
            claimant.vtime = max(claimant.vtime, self.clock)

    def serve(self, candidates: Sequence[Claimant], cost: float | None = None) -> Claimant:
        """Picks the lowest virtual time (ties by id), moves the clock to it and charges it."""
        chosen = min(candidates, key=lambda c: (c.vtime, c.id))
        self.clock = max(self.clock, chosen.vtime)
        chosen.vtime += (chosen.cost if cost is None else cost) / chosen.weight
        return chosen


def choose(owners: Level, batches: Mapping[str, Level], slots: int) -> list[str]:
    """Batch ids in the order of admission, one for each run, at most `slots` of them.

    `batches` holds each owner's own level. Virtual times and clocks are moved in place; `taken` counts.
    """
    picked: list[str] = []
    open_batches = {
        owner: [b for b in level.claimants.values() if b.queued > b.taken] for owner, level in batches.items()
    }
    while len(picked) < slots:
        waiting = [owners.claimants[owner] for owner, left in open_batches.items() if left]
        if not waiting:
            break
        owner = min(waiting, key=lambda c: (c.vtime, c.id)).id
        batch = batches[owner].serve(open_batches[owner])
        owners.serve([owners.claimants[owner]], batch.cost)
        batch.taken += 1
        picked.append(batch.id)
        if batch.taken >= batch.queued:
            open_batches[owner].remove(batch)
    return picked


def split(free: int, reserve_free: int, interactive: int, batch: int, turn: int) -> tuple[int, int]:
    """How many interactive and how many batch runs to admit into `free` shared and `reserve_free` reserved slots.

    Interactive runs go first and may fill the reserve; where both compete, one shared slot in `BATCH_SHARE` is left.
    `turn` counts shared slots given out so far, so that the share also holds when slots come one by one.
    """
    from_reserve = min(interactive, max(reserve_free, 0))
    interactive -= from_reserve
    free = max(free, 0)
    kept = min(batch, (turn + free) // BATCH_SHARE - turn // BATCH_SHARE)
    shared = min(interactive, free - kept)
    return from_reserve + shared, min(batch, free - shared)


def settle(charged: float, actual: float, weight: float) -> float:
    """What to add to a virtual time when a run has ended: what it took beyond its charge (negative: less)."""
    return (actual - charged) / weight


def estimate(old: float, ended: int, mean: float) -> float:
    """The expected steps of a batch's runs after `ended` more of them took `mean` steps each."""
    if old <= 0:
        return mean
    share = min(1.0, ended / 20)
    return old + (mean - old) * max(share, 0.1)
