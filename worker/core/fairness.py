"""Who is admitted next: fair queueing with floors, over owners and inside each owner over its batches.

Every owner and every batch has a virtual time, charged with steps ÷ weight; the lowest goes next. The clock of a level
is the lowest virtual time of those in the race; one that becomes eligible again is raised to it, so that no credit is
stored while it is paused or has nothing queued. (Goyal, Vin and Cheng, "Start-time Fair Queuing", 1996.)

How long runs are is known only after they end, a whole turn of the hot set too late. So each is also entitled to the
whole slots of its share of the hot set: who holds fewer goes first. Virtual times then share out the fractions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

DEFAULT_STEPS = 3.0
"""What a run is charged at its admission while nothing is known of its batch."""

BATCH_SHARE = 4
"""Of the admissions for which both classes compete, one in this many goes to the lower class."""

MIN_WEIGHT, MAX_WEIGHT = 0.001, 1_000.0
"""Steps are divided by a weight: what is smaller or larger would leave no number to compare."""

FARTHEST = 1e15
"""No virtual time gets here by being charged; beyond it a step more would change nothing."""

LEASH_RUNS = 2
"""How many runs' charge a virtual time may be from the clock: old errors of estimates are not paid back for hours."""


def sound_weight(weight: float) -> float:
    """A weight within its bounds, whatever a row says; what is no number counts as 1."""
    return min(max(weight, MIN_WEIGHT), MAX_WEIGHT) if math.isfinite(weight) else 1.0


def is_sound(at: float) -> bool:
    """Whether a virtual time can be compared and charged."""
    return abs(at) <= FARTHEST  # false for what is no number


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
        """Takes what is no virtual time back to the present, so that one bad row does not stop the others."""
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
        """Those that became eligible again store no credit."""
        for claimant in (self.claimants[i] for i in ids):
            claimant.vtime = max(claimant.vtime, self.clock)

    def shorten_leash(self) -> None:
        """Keeps every virtual time near the clock, whatever was settled since."""
        for c in self.claimants.values():
            leash = LEASH_RUNS * max(c.cost, DEFAULT_STEPS) / c.weight
            c.vtime = min(max(c.vtime, self.clock - leash), self.clock + leash)

    def next(self, candidates: Sequence[Claimant], slots: int) -> Claimant:
        """Whoever is furthest below the whole slots of its share; if nobody is, the lowest virtual time (ties by id).

        `slots` are still to be given out.
        """
        shared = slots + sum(c.held for c in candidates)
        weight = sum(c.weight for c in candidates)
        below = [c for c in candidates if c.held < int(shared * c.weight / weight + 1e-9)]
        if below:
            return min(below, key=lambda c: ((c.held + 1) / c.weight, c.vtime, c.id))
        return min(candidates, key=lambda c: (c.vtime, c.id))

    def serve(self, chosen: Claimant, candidates: Sequence[Claimant], cost: float) -> None:
        """Charges the one that is served and moves the clock on."""
        self.clock = max(self.clock, min(c.vtime for c in candidates))
        chosen.vtime += cost / chosen.weight
        chosen.taken += 1
        chosen.held += 1


def choose(owners: Level, batches: Mapping[str, Level], slots: int) -> list[str]:
    """Batch ids in the order of admission, one for each run, at most `slots` of them.

    `batches` holds each owner's own level. Virtual times and clocks are moved in place; `taken` and `held` count.
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
    """How many of the slots to be given out are this owner's, so that its batches know their shares; one at least."""
    shared = slots + sum(c.held for c in waiting)
    entitled = shared * owner.weight / sum(c.weight for c in waiting)
    return max(1, min(slots, int(entitled) - owner.held))


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
    return (actual - charged) / sound_weight(weight)


def estimate(old: float, ended: int, mean: float) -> float:
    """The expected steps of a batch's runs after `ended` more of them took `mean` steps each."""
    if not 0 < old <= FARTHEST:
        return mean
    share = min(1.0, ended / 20)
    return old + (mean - old) * max(share, 0.1)
