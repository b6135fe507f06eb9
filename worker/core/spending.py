"""What an attempt used, and what it adds to its run's sums. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from worker.core.records import Usage
from worker.core.states import Outcome

_NOTHING = Usage()


@dataclass(frozen=True, slots=True)
class Used:
    """Sums of usual attempts, whose usage is known and not wasted."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """Calls whose cost has not even a known bound."""
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Sums(Used):
    """Sums of all attempts. The fields are columns of runs, batches, endings and the hot row."""

    wasted_tokens: int = 0
    wasted_cost_usd: float = 0.0
    wasted_s: float = 0.0
    wasted_attempts: int = 0
    reserved_usd: float = 0.0
    """The upper bound of calls with unknown usage."""


@dataclass(frozen=True, slots=True)
class Spent:
    """How an attempt ended and what it used. `usage` is None if the endpoint did not report it or never answered."""

    outcome: str
    error: str | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    wasted: bool = False
    billed: bool = False
    """Whether a model call was sent, so that unknown usage counts as unknown rather than zero."""
    priced: bool = False
    """Whether the model's price is known, so that a call without a reservation was never sent."""
    reserved_usd: float | None = None
    """The upper bound of a call with unknown usage, as reserved by its attempt."""
    held_s: float = 0.0
    """Seconds that a wasted attempt lasted, from its claim."""

    @property
    def unknown(self) -> bool:
        """Whether a call was sent whose usage is unknown."""
        return self.billed and self.usage is None

    @property
    def usual(self) -> bool:
        """Whether the record is complete; for waste and unknown usage the attempt's row has to be read as well."""
        return not self.wasted and not self.unknown

    @property
    def tokens(self) -> Usage:
        """Its usage; zeros if unknown."""
        return self.usage or _NOTHING

    def sums(self) -> Sums:
        """Returns what it adds to its run's sums."""
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
