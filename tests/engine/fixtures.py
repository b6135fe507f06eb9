"""Fixtures around a fleet; `conftest.py` of each folder that uses them names them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.counter import CountingServer
from tests.engine.fleet import Fleet
from tests.engine.processes import Nursery
from worker.practice.config import Config
from worker.practice.serving import Control, serve
from worker.store.opening import open_store


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Where worker processes come from."""
    opened = Nursery()
    yield opened
    opened.close()


@pytest.fixture
def practice() -> Iterator[Control]:
    """A practice model without latency, over HTTP."""
    with serve(Config()) as control:
        yield control


@pytest.fixture
def counter() -> Iterator[CountingServer]:
    """Whatever else a test shows: no effect that must not be repeated has been."""
    server = CountingServer()
    with server.serving():
        yield server
    assert server.repeated() == {}, "a call of a tool that is not idempotent took effect twice"


@pytest.fixture
def fleet(
    nursery: Nursery, database_url: str, redis_url: str, practice: Control, counter: CountingServer, tmp_path: Path
) -> Iterator[Fleet]:
    """No worker yet; those that a test starts end with it."""
    store = open_store(database_url, pool_size=4)
    opened = Fleet(nursery, store, database_url, redis_url, practice, counter, tmp_path)
    yield opened
    opened.stop()
    store.dispose()
