"""Pauses of a model endpoint: none is shortened by a later one, and no run stays parked once it is open."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import insert, select

from worker.store.control.endpoints import pause, paused, reopen_due, resume
from worker.store.opening import open_store
from worker.store.schema.tables import active, endpoints
from worker.store.session import Store


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    opened = open_store(database_url)
    yield opened
    opened.dispose()


def pause_it(store: Store, for_s: float | None, by: str = "stepmill") -> None:
    pause(store, "one", "http://127.0.0.1/v1", "practice", f"reason of {by}", for_s=for_s, by=by)


def stands(store: Store) -> tuple[str, bool]:
    """By whom it is paused, and whether without an end."""
    with store.read() as tx:
        row = tx.execute(select(endpoints)).one()
    return row.paused_by, row.paused_until is None


def test_a_refusal_with_a_time_does_not_open_what_waits_for_the_operator(store: Store) -> None:
    pause_it(store, for_s=None)
    pause_it(store, for_s=0.0)
    assert stands(store) == ("stepmill", True)
    assert reopen_due(store) == 0 and "one" in paused(store)


def test_a_pause_by_hand_stands_until_a_person_lifts_it(store: Store) -> None:
    pause_it(store, for_s=5.0)
    pause_it(store, for_s=None, by="olga")
    pause_it(store, for_s=None)
    pause_it(store, for_s=0.0)
    assert stands(store) == ("olga", True)
    assert reopen_due(store) == 0
    assert resume(store, "one") and paused(store) == {}


def test_a_wrong_key_found_during_a_short_pause_makes_it_endless(store: Store) -> None:
    pause_it(store, for_s=5.0)
    pause_it(store, for_s=None)
    assert stands(store) == ("stepmill", True)


def test_a_run_that_is_parked_just_after_the_endpoint_opened_is_freed_by_the_next_sweep(store: Store) -> None:
    pause_it(store, for_s=None)
    resume(store, "one")
    with store.write() as tx:
        tx.execute(insert(active).values(run_id="late", parked="model", parked_target="one"))
    assert reopen_due(store) == 1
    with store.read() as tx:
        assert tx.execute(select(active.c.parked)).scalar() == "ready"
    assert reopen_due(store) == 0
