"""The practice model with quirks."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from tests.practice.quirky import Endpoint
from worker.practice import Config, Control, serve


@pytest.fixture(scope="module")
def quirky_server() -> Iterator[tuple[Control, httpx2.Client]]:
    with serve() as control, httpx2.Client(trust_env=False, timeout=10) as client:
        yield control, client


@pytest.fixture
def endpoint(quirky_server: tuple[Control, httpx2.Client]) -> Endpoint:
    """The same server for each test of a module, as new."""
    server, client = quirky_server
    server.control(**Config().as_json() | {"api_key": None}, reset=True)
    return Endpoint(server, client)
