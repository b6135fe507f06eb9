"""`up` with its whole plan: a real Redis and a real Flower, and a stand-in for the `stepmill` command."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
import redis

from tests.local.programs import alive
from tests.services.waiting import wait_until
from worker.local.detach import start_detached
from worker.local.errors import ServiceFailed
from worker.local.health import answers_http
from worker.local.ports import free_port
from worker.local.state import down, family, running_stack

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
from pathlib import Path
from worker.local.plan import StackPlan
from worker.local.stack import up
stepmill = (sys.executable, "-m", "tests.local.pretend_stepmill")
up(StackPlan(
    Path(sys.argv[1]), "sqlite://", api_port=int(sys.argv[2]), flower_port=0,
    stepmill=stepmill, celery_app=sys.argv[3],
))
"""


@pytest.fixture(autouse=True)
def in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def command(data_dir: Path, api_port: int, celery_app: str = "tests.local.small_app:app") -> list[str]:
    return [sys.executable, "-c", PROGRAM, str(data_dir), str(api_port), celery_app]


def test_up_starts_every_part_where_it_says_and_down_stops_them(tmp_path: Path) -> None:
    port = free_port()
    info = start_detached(command(tmp_path, port), tmp_path, timeout_s=60)
    members = family(info)
    assert info.practice
    assert info.addresses["API"] == f"http://127.0.0.1:{port}"
    assert answers_http(port, "/healthz")()
    assert answers_http(int(info.addresses["Flower"].rpartition(":")[2]), "/healthcheck")()
    with redis.Redis.from_url(info.environment["STEPMILL_REDIS_URL"]) as client:
        assert client.ping()
    logs = {path.name for path in Path(info.log_dir).iterdir()}
    assert {"redis.log", "think.log", "tools.log", "api.log", "model.log", "flower.log", "stack.log"} <= logs
    assert down(tmp_path)
    assert not alive(members)


def test_after_a_hard_kill_the_same_ports_serve_again(tmp_path: Path) -> None:
    port = free_port()
    first = start_detached(command(tmp_path, port), tmp_path, timeout_s=60)
    members = family(first)
    os.kill(first.pid, signal.SIGKILL)
    second = start_detached(command(tmp_path, port), tmp_path, timeout_s=60)
    assert second.pid != first.pid
    wait_until("nothing of the first is left", lambda: not alive(members))
    assert answers_http(port, "/healthz")()
    down(tmp_path)


def test_a_part_that_cannot_start_is_named_and_everything_else_stopped(tmp_path: Path) -> None:
    with pytest.raises(ServiceFailed, match="flower ended with code"):
        start_detached(command(tmp_path, free_port(), "no.such.app:app"), tmp_path, timeout_s=60)
    assert running_stack(tmp_path) is None
