"""The fair order of admission: fair queueing with floors, over owners and over each owner's batches.

Every owner and every batch has a virtual time, charged with steps ÷ weight; the lowest goes next. The clock of a level
is the lowest virtual time of its eligible claimants; one that becomes eligible again is raised to it, so that no credit
accrues while it is paused or has nothing queued. (Goyal, Vin and Cheng, "Start-time Fair Queuing", 1996.)

The length of runs is known only when they end, a whole turn of the hot set too late. So each claimant is also entitled
to the whole slots of its share of the hot set: one that holds fewer goes first. Virtual times decide the fractions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

DEFAULT_STEPS = 3.0
"""Steps that a run is charged at admission while no run of its batch has ended."""

BATCH_SHARE = 4
"""One in this many of the admissions for which both classes compete goes to the batch class."""

MIN_WEIGHT, MAX_WEIGHT = 0.001, 1_000.0
"""Steps are divided by the weight; smaller or larger weights would give numbers that cannot be compared."""

FARTHEST = 1e15
"""No virtual time gets this large by charges; beyond it, adding a step would be lost to rounding."""

LEASH_RUNS = 2
"""A virtual time stays within this many runs' charge of the clock, so that old misestimates do not matter for hours."""


def sound_weight(weight: float) -> float:
    """Returns a stored weight clamped to its bounds; NaN and infinity count as 1."""
    return min(max(weight, MIN_WEIGHT), MAX_WEIGHT) if math.isfinite(weight) else 1.0


def is_sound(at: float) -> bool:
    """Returns whether a virtual time can be compared and charged."""
    return abs(at) <= FARTHEST  # false for NaN


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
    held: int = 0
    """Slots of the hot set that it has now."""


@dataclass(slots=True)
class Level:
    """One level of the order: its claimants and its clock."""

    clock: float = 0.0
    claimants: dict[str, Claimant] = field(default_factory=dict)

    def mend(self) -> None:
        """Resets invalid virtual times to the clock, so that one bad row does not block the others."""
        sound = [c.vtime for c in self.claimants.values() if is_sound(c.vtime)]
        if not is_sound(self.clock):
            self.clock = min(sound, default=0.0)
        for claimant in self.claimants.values():
            claimant.weight = sound_weight(claimant.weight)
            if not is_sound(claimant.cost) or claimant.cost <= 0:
                claimant.cost = DEFAULT_STEPS
            if not is_sound(claimant.vtime):
                claimant.vtime = self.clock

    def raise_to_present(self, ids: Iterable[str]) -> None:
        """Raises claimants that became eligible again to the clock, so that they have no stored credit."""
        for claimant in (self.claimants[i] for i in ids):
            claimant.vtime = max(claimant.vtime, self.clock)

    def shorten_leash(self) -> None:
        """Keeps every virtual time near the clock, whatever has been settled since."""
        for c in self.claimants.values():
            leash = LEASH_RUNS * max(c.cost, DEFAULT_STEPS) / c.weight
            c.vtime = min(max(c.vtime, self.clock - leash), self.clock + leash)

    def next(self, candidates: Sequence[Claimant], slots: int) -> Claimant:
        """Returns the claimant furthest below its whole slots, or else the lowest virtual time (ties by id).

        `slots` is how many are left to give out.
        """
        shared = slots + sum(c.held for c in candidates)
        weight = sum(c.weight for c in candidates)
        below = [c for c in candidates if c.held < int(shared * c.weight / weight + 1e-9)]
        if below:
            return min(below, key=lambda c: ((c.held + 1) / c.weight, c.vtime, c.id))
        return min(candidates, key=lambda c: (c.vtime, c.id))

    def serve(self, chosen: Claimant, candidates: Sequence[Claimant], cost: float) -> None:
        """Charges the chosen claimant and advances the clock."""
        self.clock = max(self.clock, min(c.vtime for c in candidates))
        chosen.vtime += cost / chosen.weight
        chosen.taken += 1
        chosen.held += 1


def choose(owners: Level, batches: Mapping[str, Level], slots: int) -> list[str]:
    """Returns up to `slots` batch ids in the order of admission, one for each run.

    `batches` is each owner's level. Virtual times, clocks, `taken` and `held` are updated in place.
    """
    picked: list[str] = []
    open_batches = {
        owner: [b for b in level.claimants.values() if b.queued > b.taken] for owner, level in batches.items()
    }
    while len(picked) < slots:
        waiting = [owners.claimants[owner] for owner, left in open_batches.items() if left]
        if not waiting:
            break
        left = slots - len(picked)
        owner = owners.next(waiting, left)
        level, candidates = batches[owner.id], open_batches[owner.id]
        batch = level.next(candidates, _part(owner, waiting, left))
        level.serve(batch, candidates, batch.cost)
        owners.serve(owner, waiting, batch.cost)
        picked.append(batch.id)
        if batch.taken >= batch.queued:
            candidates.remove(batch)
    return picked


def _part(owner: Claimant, waiting: Sequence[Claimant], slots: int) -> int:
    """Returns how many of the free slots are this owner's (at least 1), from which its batches' shares follow."""
    shared = slots + sum(c.held for c in waiting)
    entitled = shared * owner.weight / sum(c.weight for c in waiting)
    return max(1, min(slots, int(entitled) - owner.held))


def split(free: int, reserve_free: int, interactive: int, batch: int, turn: int) -> tuple[int, int]:
    """Returns how many interactive and batch runs to admit into `free` shared and `reserve_free` reserved slots.

    Interactive runs go first and may fill the reserve; one in `BATCH_SHARE` contested shared slots goes to batch runs.
    `turn` counts the shared slots given out so far, so that the share also holds when slots come one by one.
    """
    from_reserve = min(interactive, max(reserve_free, 0))
    interactive -= from_reserve
    free = max(free, 0)
    kept = min(batch, (turn + free) // BATCH_SHARE - turn // BATCH_SHARE)
    shared = min(interactive, free - kept)
    return from_reserve + shared, min(batch, free - shared)


def settle(charged: float, actual: float, weight: float) -> float:
    """Returns what to add to a virtual time when a run ends: its steps beyond its charge (or negative), by weight."""
    return (actual - charged) / sound_weight(weight)


def estimate(old: float, ended: int, mean: float) -> float:
    """Returns the expected steps per run of a batch after `ended` more runs took `mean` steps each."""
    if not 0 < old <= FARTHEST:
        return mean
    share = min(1.0, ended / 20)
    return old + (mean - old) * max(share, 0.1)
