"""Money: what of a batch's budget a run may use. It is reserved before it is spent, so that no sum passes a budget."""

from __future__ import annotations

from dataclasses import dataclass

GUESSED_CALLS = 8
"""So many first calls' upper bounds a run is given while no run of its batch has ended."""
FIRST_RUNS = 4
"""While no run has ended, none is given more of what is left than this part of it, unless an even share is more."""
SLACK_CALLS = 2
"""Later, beside twice the mean: upper bounds are loose, and grow with the conversation."""


@dataclass(frozen=True, slots=True)
class Purse:
    """The money of a batch at one moment.

    `committed_usd` is what its ended runs cost, bounds of what is not known included, and the allotments of its active
    ones. `waiting` runs are not admitted yet. `call_usd` bounds the first model call of any of its runs.
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
    """What each of the next runs may use, at most `slots` of them; shorter when the money ends before.

    An even share of what is left, but no less than a run probably needs, so that a budget that is too small for all
    lets some runs end well rather than all of them badly; and never less than one call's upper bound.
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
    """Whether a call that may cost `bound_usd` fits what is left of a run's allotment. None: there is no budget."""
    return allotment_usd is None or used_usd + bound_usd <= allotment_usd
