"""How much of a batch's budget a run may use. Money is reserved before it is spent, so no budget is exceeded."""

from __future__ import annotations

from dataclasses import dataclass

GUESSED_CALLS = 8
"""Until a run of its batch has ended, a run is allotted this many times the upper bound of a first call."""
FIRST_RUNS = 4
"""Until then no run gets more than one part in this many of what is left, unless an even share is more."""
SLACK_CALLS = 2
"""Later, a run gets twice the mean plus this many calls' bounds, which are loose and grow with the conversation."""


@dataclass(frozen=True, slots=True)
class Purse:
    """The money of a batch at one time, in US dollars.

    `committed_usd` is what its ended runs cost, including bounds for unknown usage, plus the allotments of active runs.
    `waiting` counts runs not yet admitted. `call_usd` bounds the first model call of any of its runs.
    """

    budget_usd: float
    committed_usd: float
    call_usd: float
    waiting: int
    ended: int = 0
    ended_usd: float = 0.0

    @property
    def left_usd(self) -> float:
        return max(0.0, self.budget_usd - self.committed_usd)


def allotments(purse: Purse, slots: int) -> list[float]:
    """Returns what each of the next runs may use, for up to `slots` runs; fewer if the money runs out before.

    Each gets an even share of what is left, but at least what a run probably needs, so that a budget too small for all
    lets some runs succeed rather than all of them fail; and never less than one call's upper bound.
    """
    found: list[float] = []
    left = purse.left_usd
    for n in range(min(slots, purse.waiting)):
        even = left / (purse.waiting - n)
        share = min(max(even, _needed(purse, left), purse.call_usd), left)
        if share <= 0 or share < purse.call_usd:
            break
        found.append(share)
        left -= share
    return found


def _needed(purse: Purse, left_usd: float) -> float:
    if purse.ended:
        return 2 * purse.ended_usd / purse.ended + SLACK_CALLS * purse.call_usd
    return min(GUESSED_CALLS * purse.call_usd, left_usd / FIRST_RUNS)


def may_call(allotment_usd: float | None, used_usd: float, bound_usd: float) -> bool:
    """Returns whether a call that may cost `bound_usd` fits the rest of a run's allotment (None: no budget)."""
    return allotment_usd is None or used_usd + bound_usd <= allotment_usd
