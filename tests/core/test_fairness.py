"""Who gets the steps: the order of admission simulated over many arrival patterns, with nothing but the pure part."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from worker.core.fairness import (
    BATCH_SHARE,
    DEFAULT_STEPS,
    LEASH_RUNS,
    Claimant,
    Level,
    choose,
    estimate,
    settle,
    split,
)

ENDLESS = 10**9


@dataclass
class InMotion:
    batch: str
    steps: int
    charged: float


@dataclass
class Simulation:
    """A hot set in which each run makes one step a tick; what ends is settled and its slots are given out anew."""

    slots: int
    lengths: dict[str, tuple[int, int]] = field(default_factory=dict)
    owners: Level = field(default_factory=Level)
    levels: dict[str, Level] = field(default_factory=dict)
    owner_of: dict[str, str] = field(default_factory=dict)
    estimates: dict[str, float] = field(default_factory=dict)
    now: int = 0
    ends: dict[int, list[InMotion]] = field(default_factory=dict)
    """The runs in motion, by the tick at whose end they end."""
    held: Counter[str] = field(default_factory=Counter)
    """How many of them each batch has."""
    steps: Counter[str] = field(default_factory=Counter)
    paused: set[str] = field(default_factory=set)
    rng: random.Random = field(default_factory=lambda: random.Random(7))

    def arrive(
        self, batch: str, lengths: tuple[int, int], owner: str = "one", weight: float = 1.0, queued: int = ENDLESS
    ) -> None:
        if owner not in self.levels:
            self.levels[owner] = Level()
            self.owners.claimants[owner] = Claimant(owner, 0.0)
            self.owners.raise_to_present([owner])
        self.levels[owner].claimants[batch] = Claimant(batch, 0.0, weight, queued=queued)
        self.levels[owner].raise_to_present([batch])
        self.owner_of[batch], self.lengths[batch], self.estimates[batch] = owner, lengths, 0.0

    def resume(self, batch: str) -> None:
        self.paused.remove(batch)
        self.levels[self.owner_of[batch]].raise_to_present([batch])
        self.owners.raise_to_present([self.owner_of[batch]])

    def tick(self) -> None:
        self.now += 1
        self.steps += self.held
        gone = self.ends.pop(self.now, [])
        self.held -= Counter(run.batch for run in gone)
        ended: dict[str, list[InMotion]] = {}
        for run in gone:
            ended.setdefault(run.batch, []).append(run)
        for batch, runs in ended.items():
            self._settle(batch, runs)
        if self.held.total() < self.slots:
            self._admit()

    def _settle(self, batch: str, gone: list[InMotion]) -> None:
        took, charged = sum(r.steps for r in gone), sum(r.charged for r in gone)
        for claimant in (
            self.levels[self.owner_of[batch]].claimants[batch],
            self.owners.claimants[self.owner_of[batch]],
        ):
            claimant.vtime += settle(charged, took, claimant.weight)
        self.estimates[batch] = estimate(self.estimates[batch], len(gone), took / len(gone))

    def _admit(self) -> None:
        held = self.held
        narrowed = {owner: Level(level.clock) for owner, level in self.levels.items()}
        for batch, owner in self.owner_of.items():
            claimant = self.levels[owner].claimants[batch]
            claimant.cost, claimant.held = self.estimates[batch] or DEFAULT_STEPS, held[batch]
            if batch not in self.paused:
                claimant.taken = 0
                narrowed[owner].claimants[batch] = claimant
        for owner, level in narrowed.items():
            mine = level.claimants.values()
            self.owners.claimants[owner].held = sum(held[b] for b, o in self.owner_of.items() if o == owner)
            self.owners.claimants[owner].cost = max((c.cost for c in mine), default=DEFAULT_STEPS)
            level.shorten_leash()
        self.owners.shorten_leash()
        for batch in choose(self.owners, narrowed, self.slots - self.held.total()):
            claimant, length = (
                self.levels[self.owner_of[batch]].claimants[batch],
                self.rng.randint(*self.lengths[batch]),
            )
            claimant.queued -= 1
            self.ends.setdefault(self.now + length, []).append(InMotion(batch, length, claimant.cost))
            self.held[batch] += 1
        for owner, level in narrowed.items():
            self.levels[owner].clock = level.clock

    def turn_over(self) -> None:
        """Until every run that is in motion now has ended."""
        last = max(self.ends, default=self.now)
        while self.now < last:
            self.tick()

    def shares(self, ticks: int) -> dict[str, float]:
        """Each batch's part of the steps of the next ticks."""
        before = Counter(self.steps)
        for _ in range(ticks):
            self.tick()
        made = self.steps - before
        return {batch: made[batch] / max(1, made.total()) for batch in self.owner_of}


lengths_of_runs = st.tuples(st.integers(2, 50), st.integers(0, 20)).map(lambda t: (t[0], min(50, t[0] + t[1])))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(lengths_of_runs, st.integers(0, 80)), min_size=2, max_size=10),
    st.sampled_from([64, 100, 256]),
    st.booleans(),
)
def test_equal_batches_each_get_their_share_once_the_hot_set_at_arrival_has_turned_over(
    arrivals: list[tuple[tuple[int, int], int]], slots: int, one_owner: bool
) -> None:
    world = Simulation(slots)
    for n, (lengths, gap) in enumerate(arrivals):
        world.arrive(f"b{n}", lengths, owner="one" if one_owner else f"owner {n}")
        for _ in range(gap):
            world.tick()
    world.turn_over()
    for ticks in (60, 200, 600):
        shares = world.shares(ticks)
        assert min(shares.values()) >= 0.8 / len(arrivals), (ticks, shares)


@settings(max_examples=20, deadline=None)
@given(st.lists(lengths_of_runs, min_size=2, max_size=6), st.sampled_from([4, 8, 16]))
def test_where_slots_are_fewer_than_shares_virtual_times_make_it_even_in_the_long_run(
    lengths: list[tuple[int, int]], slots: int
) -> None:
    world = Simulation(slots)
    for n, length in enumerate(lengths):
        world.arrive(f"b{n}", length)
    world.turn_over()
    shares = world.shares(8_000)
    assert min(shares.values()) >= 0.8 / len(lengths), shares


@settings(max_examples=30, deadline=None)
@given(lengths_of_runs, lengths_of_runs, st.integers(0, 60), st.booleans())
def test_weights_one_to_three_give_one_to_three(
    light: tuple[int, int], heavy: tuple[int, int], gap: int, light_first: bool
) -> None:
    world = Simulation(64)
    order = [("light", light, 1.0), ("heavy", heavy, 3.0)]
    for name, lengths, weight in order if light_first else reversed(order):
        world.arrive(name, lengths, weight=weight)
        for _ in range(gap):
            world.tick()
    world.turn_over()
    shares = world.shares(600)
    assert 3 * 0.85 <= shares["heavy"] / shares["light"] <= 3 * 1.15, shares


@settings(max_examples=15, deadline=None)
@given(lengths_of_runs, lengths_of_runs, st.integers(0, 30))
def test_a_hundred_batches_of_one_owner_do_not_outweigh_one_of_another(
    many: tuple[int, int], single: tuple[int, int], gap: int
) -> None:
    world = Simulation(64)
    for n in range(100):
        world.arrive(f"many {n}", many, owner="busy")
    for _ in range(gap):
        world.tick()
    world.arrive("one", single, owner="quiet")
    world.turn_over()
    assert world.shares(300)["one"] >= 0.4


@settings(max_examples=20, deadline=None)
@given(lengths_of_runs, st.integers(50, 800))
def test_a_batch_that_was_paused_comes_back_without_credit(lengths: tuple[int, int], pause: int) -> None:
    world = Simulation(64)
    world.arrive("steady", lengths)
    world.arrive("paused", lengths)
    world.turn_over()
    world.paused.add("paused")
    for _ in range(pause):
        world.tick()
    world.resume("paused")
    world.turn_over()
    assert world.shares(100)["steady"] >= 0.4, "it does not pay for the time in which it had the place alone"


def test_credit_and_debt_never_exceed_the_charge_of_a_few_runs() -> None:
    rich, poor = Claimant("rich", -1e9, cost=10.0, queued=1), Claimant("poor", 1e9, cost=10.0, queued=1)
    level = Level(100.0, {"rich": rich, "poor": poor})
    level.shorten_leash()
    assert (rich.vtime, poor.vtime) == (100.0 - LEASH_RUNS * 10.0, 100.0 + LEASH_RUNS * 10.0)


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(0.1, 9), st.integers(0, 5)), max_size=8), st.integers(0, 40))
def test_as_many_are_chosen_as_there_are_slots_and_runs_and_no_batch_beyond_its_queue(
    drawn: list[tuple[float, float, int]], slots: int
) -> None:
    batches = {f"o{n % 3}": Level(0.0, {}) for n in range(len(drawn))}
    for n, (vtime, weight, queued) in enumerate(drawn):
        batches[f"o{n % 3}"].claimants[f"b{n}"] = Claimant(f"b{n}", vtime, weight, queued=queued)
    owners = Level(0.0, {owner: Claimant(owner, 0.0) for owner in batches})
    picked = Counter(choose(owners, batches, slots))
    assert picked.total() == min(slots, sum(queued for _, _, queued in drawn))
    assert all(picked[f"b{n}"] <= queued for n, (_, _, queued) in enumerate(drawn))


def test_behind_an_endless_stream_of_interactive_runs_one_slot_in_a_few_goes_to_the_others() -> None:
    turn, given_to_batch = 0, 0
    for _ in range(400):  # slots come free one by one
        interactive, batch = split(1, 0, 1_000, 1_000, turn)
        assert interactive + batch == 1
        turn, given_to_batch = turn + 1, given_to_batch + batch
    assert given_to_batch == 400 // BATCH_SHARE
    assert split(8, 0, 1_000, 1_000, 0) == (6, 2)


@given(st.integers(-20, 50), st.integers(-20, 20), st.integers(0, 60), st.integers(0, 60), st.integers(0, 1_000))
def test_no_slot_stays_empty_while_somebody_waits_and_none_is_given_twice(
    free: int, reserve: int, interactive: int, batch: int, turn: int
) -> None:
    n_interactive, n_batch = split(free, reserve, interactive, batch, turn)
    usable, kept_back = max(free, 0), max(reserve, 0)
    assert 0 <= n_interactive <= interactive and 0 <= n_batch <= batch
    assert n_interactive + n_batch <= usable + kept_back and n_batch <= usable
    assert n_batch + max(0, n_interactive - kept_back) == min(usable, batch + max(0, interactive - kept_back))


def test_interactive_runs_fill_the_reserve_whatever_the_backlog() -> None:
    assert split(0, 4, 3, 1_000_000, 0) == (3, 0)
    assert split(0, 4, 9, 1_000_000, 0) == (4, 0)


def test_an_estimate_follows_what_runs_took() -> None:
    assert estimate(0.0, 1, 17.0) == 17.0
    expected = 2.0
    for _ in range(60):
        expected = estimate(expected, 1, 40.0)
    assert 39.0 < expected <= 40.0
