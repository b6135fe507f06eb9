"""A model endpoint for the pages about your own model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.shell import BIN
from tests.services.process import ServerProcess, free_port
from tests.services.waiting import wait_until
from worker.local.health import answers_http


@pytest.fixture
def own_model(tmp_path: Path) -> Iterator[str]:
    """The base URL of an endpoint that knows `my-model` only."""
    port = free_port()
    argv = [str(BIN / "stepmill"), "simulate", "--port", str(port), "--model", "my-model"]
    server = ServerProcess(argv, tmp_path / "own-model.log")
    wait_until("the endpoint answers", answers_http(port, "/v1/models"), timeout_s=60)
    yield f"http://127.0.0.1:{port}/v1"
    server.stop()
