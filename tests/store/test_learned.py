"""What endpoints refuse is known to the fleet, for a day; whether they answer others is known to each failing step."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from tests.store.conftest import World
from worker.core.config import RunConfig
from worker.core.machine import decide_think
from worker.core.moves import ModelFailed
from worker.core.records import Adaptation
from worker.core.remedies import PauseKind
from worker.core.spending import Spent
from worker.store.control.endpoints import answered_since_failure, note_answered, pause, paused, reopen_due, resume
from worker.store.control.learned import FORGET_AFTER_S, all_learned, forget, learn
from worker.store.hot.interface import ThinkWork
from worker.store.hot.writes import apply_think
from worker.store.queries.endpoints import endpoint_states, needs_operator
from worker.store.schema.tables import active
from worker.store.session import CLOCK, Store

ONE = Adaptation("without:temperature", None, "no temperature")
TWO = Adaptation("output_limit", 1500, "too large")
PLACE = ("e", "http://127.0.0.1:9/v1", "small")


def known(store: Store, endpoint_id: str = "e") -> list[Adaptation]:
    return [one.adaptation for one in all_learned(store).get(endpoint_id, ())]


def later(seconds: float) -> None:
    assert CLOCK.moment is not None
    CLOCK.moment += seconds


def test_what_was_learned_is_known_by_endpoint_and_model(store: Store) -> None:
    learn(store, "e", [ONE, TWO])
    learn(store, "other", [ONE])
    assert known(store) == [TWO, ONE]
    assert known(store, "other") == [ONE] and known(store, "third") == []


def test_the_same_anew_replaces_what_was_known(store: Store) -> None:
    learn(store, "e", [TWO])
    learn(store, "e", [Adaptation("output_limit", 700, "still too large")])
    assert known(store) == [Adaptation("output_limit", 700, "still too large")]


def test_after_a_day_it_is_forgotten(store: Store, stepped_clock: None) -> None:
    learn(store, "e", [ONE])
    later(FORGET_AFTER_S - 1.0)
    assert known(store) == [ONE]
    later(1.0)
    assert known(store) == []
    learn(store, "other", [TWO])
    assert forget(store, "e") == 0, "and its row is gone"


def test_it_is_forgotten_by_command(store: Store) -> None:
    learn(store, "e", [ONE, TWO])
    learn(store, "other", [ONE])
    assert forget(store, "e") == 2
    assert known(store) == [] and known(store, "other") == [ONE]


def failing(world: World, work: ThinkWork) -> ThinkWork:
    """The model call fails once more, and is claimed again."""
    decision = decide_think(work.hot, ModelFailed("no", 0.0, "no"), RunConfig(max_model_failures=100))
    applied = apply_think(world.store, work.lease, decision, Spent("error", "no"))
    assert applied is not None
    later(1.0)
    return world.think(applied.work_messages[0])


def test_an_answer_counts_from_the_first_failure_of_the_step_on(world: World, stepped_clock: None) -> None:
    _, work_message = world.start()
    note_answered(world.store, *PLACE)
    work = world.think(work_message)
    later(1.0)
    for failures in range(3):
        assert not answered_since_failure(world.store, "e", work.lease, work.hot.failures), "it answered before only"
        assert work.hot.failures == failures
        work = failing(world, work)
    note_answered(world.store, *PLACE, ago_s=2.5)
    assert answered_since_failure(world.store, "e", work.lease, work.hot.failures)
    assert not answered_since_failure(world.store, "another", work.lease, work.hot.failures)


def test_a_step_that_has_not_failed_before_counts_from_its_claim(world: World, stepped_clock: None) -> None:
    _, work_message = world.start()
    work = world.think(work_message)
    assert not answered_since_failure(world.store, "e", work.lease, 0)
    later(2.0)
    note_answered(world.store, *PLACE, ago_s=1.0)
    assert answered_since_failure(world.store, "e", work.lease, 0)


def test_an_older_answer_told_late_takes_nothing_back(world: World, stepped_clock: None) -> None:
    _, work_message = world.start()
    work = world.think(work_message)
    later(2.0)
    note_answered(world.store, *PLACE)
    note_answered(world.store, *PLACE, ago_s=100.0)
    assert answered_since_failure(world.store, "e", work.lease, 0)


def test_a_pause_tells_its_kind_and_what_to_do_and_takes_both_with_it(store: Store) -> None:
    pause(store, *PLACE, "401", for_s=None, kind=PauseKind.KEY, api_key_env="MY_KEY")
    found = paused(store)["e"]
    assert found.kind == PauseKind.KEY and "MY_KEY" in found.sentence and found.sentence.startswith("401. ")
    assert endpoint_states(store)["e"].remedy == found.remedy
    resume(store, "e")
    assert endpoint_states(store)["e"].remedy is None
    pause(store, *PLACE, "closed for today", for_s=None, by="hand")
    assert "stepmill models resume small" in paused(store)["e"].remedy


def test_a_limit_of_the_day_opens_by_itself_and_is_told_to_a_person_all_the_same(
    store: Store, stepped_clock: None
) -> None:
    pause(store, *PLACE, "no more today", for_s=3600.0, kind=PauseKind.QUOTA)
    assert needs_operator(store, "model", "e") and endpoint_states(store)["e"].needs_operator
    later(3601.0)
    reopen_due(store)
    assert paused(store) == {}


@pytest.mark.parametrize("failures", [0, 1])
def test_a_run_that_never_failed_is_chosen_to_probe(world: World, stepped_clock: None, failures: int) -> None:
    _, ids = world.submit(2)
    pause(world.store, *PLACE, "odd", for_s=None, kind=PauseKind.UNKNOWN)
    world.admit()
    order = ids if failures else ids[::-1]
    with world.store.write() as tx:
        for n, run_id in enumerate(order):
            values = {"parked": "model", "parked_target": "e", "parked_at": n, "failures": failures if n == 0 else 0}
            tx.execute(update(active).where(active.c.run_id == run_id).values(values))
    later(20.0)
    reopen_due(world.store)
    assert paused(world.store)["e"].probe_run == (order[1] if failures else order[0])
