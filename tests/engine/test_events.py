"""Flower and the logs show ids and outcomes, never the text of a question."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis

from tests.engine.fleet import Fleet
from worker.celery_app import make_app
from worker.settings import Settings

pytestmark = pytest.mark.timeout(300)

SECRET = "xylophone-7731"


@contextmanager
def events_of(fleet: Fleet) -> Iterator[list[dict[str, Any]]]:
    """What the workers tell Flower during the block."""
    seen: list[dict[str, Any]] = []
    app = make_app(Settings(redis_url=fleet.redis_url))
    connection = app.connection_for_read()
    receiver = app.events.Receiver(connection, handlers={"*": seen.append})
    thread = threading.Thread(target=lambda: receiver.capture(limit=None, timeout=None, wakeup=False), daemon=True)
    thread.start()
    fleet.wait("the receiver listens", lambda: bool(seen), 30)
    yield seen
    receiver.should_stop = True
    thread.join(5)
    connection.close()


def test_failed_attempts_are_failures_discards_are_rejected_and_no_question_is_told(fleet: Fleet) -> None:
    fleet.start(slots=4)
    with events_of(fleet) as seen, redis.Redis.from_url(fleet.redis_url) as client, client.monitor() as monitor:
        fleet.practice.control(script=["500"])
        batch = fleet.submit([f"Use look_up(name='{SECRET}').", f"Use nap(seconds='{SECRET}')."])
        assert fleet.finish(batch) == {"succeeded": 2}
        run = fleet.runs(batch)[0]
        late = make_app(Settings(redis_url=fleet.redis_url))
        late.send_task("think", args=[run.id, 1, 0, 1], queue="think", task_id=f"{run.id}.1.0.1", ignore_result=True)
        fleet.wait("the late work message is turned away", lambda: _kinds(seen, "task-discarded"))
        commands = _sent_until_now(client, monitor)
    assert len(_kinds(seen, "task-failed")) == 1, "the model's 500"
    assert "think" in {e.get("name") for e in _kinds(seen, "task-received")}
    assert "tools.look_up" in {e.get("name") for e in _kinds(seen, "task-received")}
    received = next(e for e in _kinds(seen, "task-received") if e["name"] == "tools.look_up")
    assert received["uuid"] == f"{run.id}.1.1.1" or run.id in received["uuid"]
    assert "run=" in received["args"] and "step=" in received["args"]
    assert SECRET not in json.dumps(seen, default=str), "an event tells a question"
    assert SECRET not in commands and len(commands) > 1000, "a message tells a question"
    assert SECRET not in "".join(worker.output() for worker in fleet.workers), "a log line tells a question"


def _kinds(seen: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in list(seen) if event["type"] == kind]


def _sent_until_now(client: redis.Redis, monitor: Any) -> str:
    """Every command that Redis has seen since the monitor began."""
    client.echo("the end")
    commands: list[str] = []
    for heard in monitor.listen():
        commands.append(heard["command"])
        if "the end" in heard["command"]:
            break
    return "\n".join(commands)
