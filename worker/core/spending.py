"""What an attempt used, and what that adds to the sums of its run. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from worker.core.records import Usage
from worker.core.states import Outcome

_NOTHING = Usage()


@dataclass(frozen=True, slots=True)
class Used:
    """What usual attempts add up to: their usage is known, and nothing of it was wasted."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """Calls for which not even a bound of their cost is known."""
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Sums(Used):
    """What all attempts add up to. Its fields are columns of runs, batches and endings, and of the hot row."""

    wasted_tokens: int = 0
    wasted_cost_usd: float = 0.0
    wasted_s: float = 0.0
    wasted_attempts: int = 0
    reserved_usd: float = 0.0
    """What calls of unknown usage may have cost at most."""


@dataclass(frozen=True, slots=True)
class Spent:
    """How an attempt ended and what it used. `usage` is None where the endpoint did not say or never answered."""

    outcome: str
    error: str | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    wasted: bool = False
    billed: bool = False
    """Whether a model call left at all, so that unknown usage is counted as such."""
    priced: bool = False
    """Whether the model's price is known, so that a call without a reservation never left."""
    reserved_usd: float | None = None
    """What a call of unknown usage may have cost at most, as its attempt reserved it."""
    held_s: float = 0.0
    """How long a wasted attempt lasted, from its claim."""

    @property
    def unknown(self) -> bool:
        """Whether a call left whose usage nobody knows."""
        return self.billed and self.usage is None

    @property
    def usual(self) -> bool:
        """Whether all is said here; of waste and of unknown usage the attempt's own row has to tell more."""
        return not self.wasted and not self.unknown

    @property
    def tokens(self) -> Usage:
        """Its usage; zeros where that is not known."""
        return self.usage or _NOTHING

    def sums(self) -> Sums:
        """What it adds to the sums of its run."""
        usage, cost = self.tokens, self.cost_usd or 0.0
        return Sums(
            prompt_tokens=usage.prompt_tokens,
            cached_tokens=usage.cached_tokens,
            completion_tokens=usage.completion_tokens,
            cost_usd=cost,
            unpriced=int(self.billed and not self.priced and self.cost_usd is None and self.reserved_usd is None),
            wasted_tokens=usage.prompt_tokens + usage.completion_tokens if self.wasted else 0,
            wasted_cost_usd=cost if self.wasted else 0.0,
            wasted_s=self.held_s if self.wasted else 0.0,
            wasted_attempts=int(self.wasted),
            reserved_usd=self.reserved_usd or 0.0,
            attempts=int(self.outcome not in (Outcome.DEFERRED, Outcome.HANDED_BACK)),
        )
