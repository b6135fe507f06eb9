"""A chart of a share price, asked as a question: searched, read, drawn and answered with its source by real workers."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from tests.engine.fleet import Fleet
from tests.tools.test_share_price import web
from tests.tools.web_server import WebServer
from worker.store.artifacts import artifacts_of

__all__ = ["web"]

pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_question_for_a_chart_ends_with_a_picture_and_its_source(fleet: Fleet, web: WebServer) -> None:
    queues = ("think", "tools.local", "tools.web", "tools.python")
    fleet.start(queues, slots=4, SEARXNG_URL=web.url, FETCH_ALLOW_HOSTS="127.0.0.1", API_URL="http://127.0.0.1:8321")
    tools = ["web_search", "fetch_url", "python_executor", "current_time"]
    batch = fleet.submit(["Draw a chart of Acme's share price over the last 7 days"], tools=tools)
    assert fleet.finish(batch, 90) == {"succeeded": 1}

    (run,) = fleet.runs(batch)
    (kept,) = artifacts_of(fleet.store, run.id)
    picture = Path(kept.path).read_bytes()
    assert picture.startswith(b"\x89PNG") and min(struct.unpack(">II", picture[16:24])) > 300
    assert f"http://127.0.0.1:8321/api/artifacts/{kept.id}" in run.answer, "the answer links the picture"
    assert "drawn from 7 values" in run.answer
    assert f"Acme: prices, {web.url}/prices" in run.answer and re.search(r"\d{4}-\d{2}-\d{2}", run.answer)
    assert ("/paywall", {}) in web.requests, "the first page refused, and another one was read"
