"""Flower, as the stack starts it, watching a real worker."""

from __future__ import annotations

import http.client
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psutil
import pytest
from celery import Celery

from tests.services.waiting import wait_until
from worker.local.plan import WORKER_READY, StackPlan, flower_service
from worker.local.service import Service
from worker.local.supervisor import Supervisor

SMALL_APP = "tests.local.small_app:app"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def flower_port(redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Flower with our configuration and argument list, on an application of the tests' own, and one worker."""
    monkeypatch.chdir(ROOT)
    plan = StackPlan(tmp_path, "sqlite://", flower_port=0, celery_app=SMALL_APP).with_ports()
    env = {"STEPMILL_REDIS_URL": redis_url, "FLOWER_UNAUTHENTICATED_API": "true"}
    flower = flower_service(plan, env)
    options = ("--pool", "threads", "--loglevel", "info", "--without-mingle", "--without-gossip")
    argv = (sys.executable, "-m", "celery", "-A", SMALL_APP, "worker", *options)
    worker = Service("worker", argv, env=env, ready_line=WORKER_READY, stage=2)
    supervisor = Supervisor([flower, worker], tmp_path / "logs")
    supervisor.start()
    yield plan.flower_port
    supervisor.stop()


def fetch(port: int, path: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path)
    body = connection.getresponse().read().decode()
    connection.close()
    return body


def post(port: int, path: str) -> int:
    """The status of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", path)
    status = connection.getresponse().status
    connection.close()
    return status


def ended_tasks(port: int, number: int) -> list[dict[str, Any]] | None:
    """The rows of Flower's table once `number` tasks have ended."""
    query = {"draw": 1, "start": 0, "length": 10, "order[0][column]": 0, "columns[0][data]": "name"}
    rows: list[dict[str, Any]] = json.loads(fetch(port, "/tasks/datatable?" + urlencode(query)))["data"]
    return rows if sum(row["state"] in ("SUCCESS", "FAILURE") for row in rows) == number else None


def test_flower_shows_tools_and_ids_and_never_a_question(flower_port: int, redis_url: str) -> None:
    with Celery(broker=redis_url, set_as_current=False) as app:
        for call, question in enumerate(("who shot whom", "a failing one"), 1):
            ids = f"run=r1 step=2 call={call} attempt=1"
            app.send_task("tools.calculator", args=[question], argsrepr=ids, kwargsrepr="", ignore_result=True)
    rows = wait_until("both tasks ended", lambda: ended_tasks(flower_port, 2))
    assert {row["name"] for row in rows} == {"tools.calculator"}
    assert {(row["kwargs"], row["state"]) for row in rows} == {
        ("step 2 · call 1 · attempt 1 · run r1", "SUCCESS"),
        ("step 2 · call 2 · attempt 1 · run r1", "FAILURE"),
    }
    pages = [json.dumps(rows), *(fetch(flower_port, f"/task/{row['uuid']}") for row in rows)]
    assert all("r1" in page for page in pages)
    assert not any("who shot" in page or "a failing one" in page for page in pages)


def test_flower_listens_on_loopback_only_and_changes_nothing(flower_port: int) -> None:
    connections = psutil.net_connections("tcp")
    listening = [tuple(one.laddr) for one in connections if one.status == "LISTEN"]
    assert [host for host, port in listening if port == flower_port] == ["127.0.0.1"]
    columns = re.findall(r'data-column="(\w+)"', fetch(flower_port, "/tasks"))
    assert columns == ["name", "kwargs", "state", "result", "received", "runtime", "worker", "uuid"]
    assert post(flower_port, "/api/worker/shutdown/anyone") == 403, "even where its API needs no password"
