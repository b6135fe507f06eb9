"""The engine visits as many rows with a large backlog as with a small one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bench.backlog import ADMITTED, churn, fill, old_snapshot, visits
from tests.bench.rows_visited import Visited
from worker.store.control.stopping import pause_batch
from worker.store.opening import open_store
from worker.store.session import Store

FEW, MANY = 1_000, 40_000
SLACK_ROWS = 8 * ADMITTED
"""Small tables are read whole where that is cheaper, so that the small backlog is no exact measure of the great one."""
pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def store(postgres_url: str) -> Iterator[Store]:
    opened = open_store(postgres_url, pool_size=2)
    yield opened
    opened.dispose()


def _assert_flat(few: dict[str, Visited], many: dict[str, Visited]) -> None:
    for work, visited in many.items():
        assert visited.rows <= few[work].rows + SLACK_ROWS, (work, few, many)


def test_forty_times_the_backlog_is_looked_at_no_more(store: Store) -> None:
    small = fill(store, FEW)
    few = visits(store, small)
    pause_batch(store, small)
    _assert_flat(few, visits(store, fill(store, MANY)))


def test_a_great_paused_batch_ahead_is_stepped_over(store: Store) -> None:
    small = fill(store, FEW)
    few = visits(store, small)
    pause_batch(store, small)
    pause_batch(store, fill(store, MANY))
    _assert_flat(few, visits(store, fill(store, FEW)))


def test_under_an_old_snapshot_rows_that_have_ended_are_not_looked_at_again(store: Store, postgres_url: str) -> None:
    batch_id = fill(store, MANY)
    few = visits(store, batch_id)
    with old_snapshot(postgres_url):
        for _ in range(10):
            churn(store, 500)
        many = visits(store, batch_id)
    _assert_flat(few, many)
    claim = "claim of a model call"
    assert many[claim].pages <= few[claim].pages + 20, "a claim finds its row by its key, whatever has died around it"
