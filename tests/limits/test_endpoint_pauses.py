"""What one process knows about pauses, and what it reports to the fleet about endpoints that answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import insert, select, text

from worker.core.remedies import PauseKind
from worker.core.states import Outcome
from worker.limits.endpoint_pauses import EndpointPauses
from worker.llm.endpoint import EndpointSettings
from worker.store.control.endpoints import note_answered, pause, paused
from worker.store.hot.interface import Lease
from worker.store.opening import open_store
from worker.store.schema.tables import attempts, endpoints
from worker.store.session import NOW, Store

MODEL = EndpointSettings("small", "http://127.0.0.1:9/v1")


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    opened = open_store(database_url)
    yield opened
    opened.dispose()


def pause_it(store: Store, kind: PauseKind) -> None:
    pause(store, MODEL.endpoint_id, MODEL.base_url, MODEL.model, "odd", for_s=None, kind=kind)


@pytest.mark.parametrize(
    ("kind", "opens"),
    [(PauseKind.UNKNOWN, True), (PauseKind.FAILING, True), (PauseKind.UNREACHABLE, True), (PauseKind.KEY, False),
     (PauseKind.QUOTA, False)],
)  # fmt: skip
def test_an_answer_that_was_under_way_opens_what_was_paused_since_nobody_was_answered(
    store: Store, kind: PauseKind, opens: bool
) -> None:
    pauses = EndpointPauses(store)
    pause_it(store, kind)
    pauses.answered(MODEL)
    assert (paused(store) == {}) is opens


def test_a_pause_by_hand_stands_whoever_answers(store: Store) -> None:
    pause(store, MODEL.endpoint_id, MODEL.base_url, MODEL.model, "closed", for_s=None, by="hand")
    EndpointPauses(store).answered(MODEL)
    assert list(paused(store)) == [MODEL.endpoint_id]


def test_the_fleet_is_told_now_and_again_that_a_model_answers(store: Store) -> None:
    pauses = EndpointPauses(store)
    pauses.answered(MODEL)
    with store.read() as tx:
        first = tx.execute(select(endpoints.c.answered_at)).scalar()
    pauses.answered(MODEL)
    with store.read() as tx:
        assert tx.execute(select(endpoints.c.answered_at)).scalar() == first, "not at each answer"
    assert first is not None


def test_a_database_that_is_away_costs_no_reply(store: Store) -> None:
    pauses = EndpointPauses(store)
    with store.write() as tx:
        tx.execute(text("ALTER TABLE endpoints RENAME TO gone"))
    pauses.answered(MODEL)
    with store.write() as tx:
        tx.execute(text("ALTER TABLE gone RENAME TO endpoints"))
    pauses.answered(MODEL)
    with store.read() as tx:
        assert tx.execute(select(endpoints.c.answered_at)).scalar() is not None


LEASE = Lease("now", "run", 1, 0, 9, "worker", 60.0)


def fail(store: Store, *ago_s: float) -> None:
    """Model calls of the step failed so many seconds ago."""
    with store.write() as tx:
        for ago in ago_s:
            values = {"claimed_at": NOW - ago, "ended_at": NOW - ago, "outcome": Outcome.ERROR.value}
            tx.execute(insert(attempts).values(token=f"{ago}", run_id="run", step=1, call=0, attempt=1, **values))


def answer(store: Store, ago_s: float) -> None:
    note_answered(store, MODEL.endpoint_id, MODEL.base_url, MODEL.model, ago_s)


def test_an_endpoint_that_has_just_answered_somebody_is_taken_for_one_that_works(store: Store) -> None:
    pauses = EndpointPauses(store)
    assert not pauses.answered_lately(MODEL)
    answer(store, 90.0)
    assert not pauses.answered_lately(MODEL)
    answer(store, 5.0)
    assert pauses.answered_lately(MODEL)


def test_one_who_is_turned_away_again_and_again_while_nobody_is_answered_waits_at_a_paused_endpoint(
    store: Store,
) -> None:
    pauses = EndpointPauses(store)
    answer(store, 50.0)
    fail(store, 20.0)
    assert not pauses.turns_away(MODEL, LEASE), "once before is not often"
    fail(store, 10.0)
    assert pauses.turns_away(MODEL, LEASE)
    answer(store, 15.0)
    assert not pauses.turns_away(MODEL, LEASE), "somebody was answered since"


def test_one_who_is_refused_after_two_pauses_while_others_are_answered_is_refused_alone(store: Store) -> None:
    pauses = EndpointPauses(store)
    fail(store, 40.0)
    answer(store, 30.0)
    assert not pauses.refuses_again(MODEL, LEASE), "it may have been everybody"
    fail(store, 20.0)
    assert not pauses.refuses_again(MODEL, LEASE), "nobody was answered since"
    answer(store, 10.0)
    assert pauses.refuses_again(MODEL, LEASE)
