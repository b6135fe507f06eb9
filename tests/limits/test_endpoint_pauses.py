"""What one process knows of pauses, and what it tells the fleet of endpoints that answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import select, text

from worker.core.remedies import PauseKind
from worker.limits.endpoint_pauses import EndpointPauses
from worker.llm.endpoint import EndpointSettings
from worker.store.control.endpoints import pause, paused
from worker.store.opening import open_store
from worker.store.schema.tables import endpoints
from worker.store.session import Store

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
