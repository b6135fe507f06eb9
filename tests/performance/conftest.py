"""A model that answers at once, and a worker's runtime to walk through runs with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.servers import ModelServer
from tests.bench.walk import Walk, walking
from tests.engine.fixtures import counter, fleet, nursery, practice

__all__ = ["counter", "fleet", "nursery", "practice"]


@pytest.fixture(scope="session")
def model_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    """The bench's own model."""
    server = ModelServer(tmp_path_factory.mktemp("model"))
    yield server
    server.stop()


@pytest.fixture
def walk(database_url: str, redis_url: str, model_server: ModelServer, tmp_path: Path) -> Iterator[Walk]:
    """On both databases in turn."""
    model_server.set()
    with walking(database_url, redis_url, model_server.base_url, tmp_path) as walked:
        yield walked


@pytest.fixture
def postgres_walk(postgres_url: str, redis_url: str, model_server: ModelServer, tmp_path: Path) -> Iterator[Walk]:
    """For what only PostgreSQL can show."""
    model_server.set()
    with walking(postgres_url, redis_url, model_server.base_url, tmp_path) as walked:
        yield walked
