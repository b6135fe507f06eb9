"""With the real dispatcher and admitter: what is submitted is admitted, and its work messages reach Redis."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

from api.app import create_app
from api.context import Context
from api.scores import Scores
from tests.services.waiting import wait_until
from tools.registry import load_tools
from worker.admitter import Admitter, capacity_of
from worker.agents import load_agents
from worker.celery_app import make_app
from worker.dispatch import Dispatcher, connect_redis
from worker.settings import Settings
from worker.store.session import Store


def test_a_submission_rings_for_its_first_runs_only(store: Store, redis_url: str, tmp_path: Path) -> None:
    settings = Settings(_env_file=None, data_dir=tmp_path, redis_url=redis_url, hot_set=10)
    sender = Dispatcher(make_app(settings), connect_redis(redis_url))
    admitter = Admitter(store, sender, capacity_of(settings))
    context = Context(settings, store, load_agents(settings), load_tools(), sender, admitter, Scores(store))
    with TestClient(create_app(context), base_url="http://127.0.0.1") as client:
        assert client.get("/readyz").status_code == 200
        client.post("/api/batches", content=b"What?\n" * 25, headers={"content-type": "text/plain"})
        wait_until("ten messages are sent", lambda: sender.lengths(["think"])["think"] == 10)
        client.post("/api/runs", json={"question": "Now?"})
        queues = {item["queue"]: item for item in client.get("/api/queues").json()["items"]}
        assert (queues["think"]["length"], queues["think.interactive"]["length"]) == (10, 1)
