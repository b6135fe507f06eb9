"""A budget holds whatever happens: allotted and spent money together never exceed it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.core.budget import Purse, allotments, may_call

EXACTLY = 1 + 1e-9
AMOUNTS = st.floats(0.0, 100.0, allow_nan=False)


@dataclass
class Batch:
    """A batch whose runs call a model; it knows nothing of the rule but what the rule hands out."""

    budget: float
    call: float
    waiting: int
    active: list[list[float]] = field(default_factory=list)
    ended: int = 0
    ended_usd: float = 0.0

    def admit(self, slots: int) -> None:
        committed = self.ended_usd + sum(allotted for allotted, _ in self.active)
        purse = Purse(self.budget, committed, self.call, self.waiting, self.ended, self.ended_usd)
        given = allotments(purse, slots)
        self.waiting -= len(given)
        self.active += [[allotted, 0.0] for allotted in given]

    def spend(self, which: int, bound: float, part: float) -> None:
        """A call whose cost is a part of its bound, or (1) one whose usage is never told, so that the bound is kept."""
        if self.active:
            run = self.active[which % len(self.active)]
            if may_call(run[0], run[1], bound):
                run[1] += bound * part

    def end(self, which: int) -> None:
        if self.active:
            _, used = self.active.pop(which % len(self.active))
            self.ended += 1
            self.ended_usd += used


HAPPENINGS = st.lists(
    st.one_of(
        st.tuples(st.just("admit"), st.integers(1, 40)),
        st.tuples(st.just("spend"), st.integers(0, 100), AMOUNTS, st.floats(0, 1)),
        st.tuples(st.just("end"), st.integers(0, 100)),
    ),
    max_size=60,
)


@given(AMOUNTS, st.floats(0.0, 20.0), st.integers(1, 200), HAPPENINGS)
def test_what_is_spent_and_allotted_never_passes_the_budget(
    budget: float, call: float, runs: int, happenings: list[tuple[object, ...]]
) -> None:
    batch = Batch(budget, call, runs)
    for name, *values in happenings:
        getattr(batch, str(name))(*values)
        assert batch.ended_usd + sum(allotted for allotted, _ in batch.active) <= budget * EXACTLY
        assert all(used <= allotted * EXACTLY for allotted, used in batch.active)


@given(AMOUNTS, AMOUNTS, st.floats(0.001, 20.0), st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), AMOUNTS)
def test_no_run_gets_less_than_its_first_call_may_cost(
    budget: float, committed: float, call: float, waiting: int, slots: int, ended: int, ended_usd: float
) -> None:
    given_out = allotments(Purse(budget, committed, call, waiting, ended, ended_usd), slots)
    assert len(given_out) <= min(slots, waiting)
    assert all(share >= call for share in given_out)


@given(st.floats(0.0, 100.0), st.floats(0.0, 100.0), st.floats(0.001, 5.0), st.integers(1, 50))
def test_whoever_could_get_one_call_gets_a_slot(budget: float, committed: float, call: float, waiting: int) -> None:
    purse = Purse(budget, committed, call, waiting)
    assert bool(allotments(purse, 1)) == (purse.left_usd >= call)


def test_an_ample_budget_is_shared_evenly() -> None:
    assert allotments(Purse(100.0, 0.0, 0.1, 10), 10) == pytest.approx([10.0] * 10)


def test_a_tight_budget_gives_some_runs_twice_what_runs_cost_so_far_and_others_nothing() -> None:
    shares = allotments(Purse(10.0, 4.0, 0.1, 100, ended=4, ended_usd=4.0), 50)
    assert shares == pytest.approx([2.2, 2.2, 1.6]), "the last one gets what is left"


def test_a_run_without_a_budget_may_always_call() -> None:
    assert may_call(None, 1e9, 1e9)
    assert may_call(1.0, 0.4, 0.6) and not may_call(1.0, 0.5, 0.6)
