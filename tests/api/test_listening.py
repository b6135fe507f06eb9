"""Streams are woken by workers through Redis, and poll the database while Redis is away."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from celery import Celery

from api import listening
from api.app import create_app
from api.listening import Listener
from tests.api.conftest import make_context
from tests.api.words import act, admit_work_messages, answer, fail
from tests.services.process import free_port
from tests.services.redis import RedisServer
from tests.services.waiting import wait_until
from tests.store.conftest import World
from worker.change_notices import HINT_CHANNEL, Hints
from worker.dispatch import Dispatcher, connect_redis
from worker.store.session import Store


@dataclass
class Served:
    """The API on a real port, and its way to Redis."""

    address: str
    dispatcher: Dispatcher
    listener: Listener


@pytest.fixture
def served(store: Store, tmp_path: Path, redis_url: str) -> Iterator[Served]:
    dispatcher = Dispatcher(Celery("test"), connect_redis(redis_url))
    context, _, _ = make_context(store, tmp_path)
    app = create_app(replace(context, sender=dispatcher))
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_until("the API listens", lambda: server.started)
    yield Served(f"http://127.0.0.1:{port}", dispatcher, app.state.listener)
    server.should_exit = True
    thread.join(timeout=20)
    assert not thread.is_alive(), "the API did not stop"


@pytest.fixture
def only_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """No stream looks by itself once it can hear."""
    monkeypatch.setattr(listening, "SLOW_S", 1_000.0)
    monkeypatch.setattr(listening, "FIRST_S", 0.0)


def submit(served: Served, runs: list[str]) -> str:
    return str(httpx2.post(f"{served.address}/api/batches", json={"runs": runs}).json()["batch_id"])


def following(address: str, told: list[tuple[str, dict[str, Any]]]) -> threading.Thread:
    """A thread that notes the events of a stream until it ends."""

    def hear() -> None:
        with httpx2.stream("GET", address, timeout=60) as response:
            kind = ""
            for line in response.iter_lines():
                name, _, value = line.partition(": ")
                if name == "event":
                    kind = value
                elif name == "data":
                    told.append((kind, json.loads(value)))

    thread = threading.Thread(target=hear)
    thread.start()
    return thread


def kinds(told: list[tuple[str, dict[str, Any]]]) -> list[str]:
    return [kind for kind, _ in told if kind != "status"]


@pytest.mark.usefixtures("only_heard")
def test_a_stream_is_woken_by_what_is_said_of_its_run_and_of_no_other(served: Served, world: World) -> None:
    batch_id = submit(served, ["one", "two"])
    items = httpx2.get(f"{served.address}/api/runs?batch={batch_id}").json()["items"]
    mine, other = (item["run_id"] for item in items)
    work_messages = admit_work_messages(world)
    told: list[tuple[str, dict[str, Any]]] = []
    thread = following(f"{served.address}/api/runs/{mine}/events", told)
    wait_until("the process listens", lambda: told and served.listener.hears)
    act(world, work_messages[mine])
    elsewhere: list[tuple[str, dict[str, Any]]] = []
    second = following(f"{served.address}/api/runs/{other}/events", elsewhere)
    answer(world, work_messages[other], "done")
    served.dispatcher.changed([other])
    wait_until("the other stream has ended", lambda: "end" in kinds(elsewhere))
    served.dispatcher.changed([mine])
    wait_until("the step is told", lambda: "step" in kinds(told))
    httpx2.post(f"{served.address}/api/runs/{mine}/cancel")
    wait_until("what the API itself did is told", lambda: "end" in kinds(told))
    thread.join(timeout=20)
    second.join(timeout=20)


@pytest.mark.usefixtures("only_heard")
def test_a_batch_is_followed_until_it_has_ended(served: Served, world: World) -> None:
    batch_id = submit(served, ["one", "two"])
    work_messages = list(admit_work_messages(world).values())
    told: list[tuple[str, dict[str, Any]]] = []
    thread = following(f"{served.address}/api/batches/{batch_id}/events", told)
    wait_until("the process listens", lambda: told and served.listener.hears)
    assert told[0][0] == "progress" and told[0][1]["counts"]["active"] == 2
    fail(world, work_messages[0])
    served.dispatcher.changed([work_messages[0].run_id])
    wait_until("the failed run is told", lambda: "run" in kinds(told))
    run = next(data for kind, data in told if kind == "run")
    assert (run["run_id"], run["state"], run["error"]) == (work_messages[0].run_id, "failed", "model_rejected")
    answer(world, work_messages[1], "done")
    admit_work_messages(world)
    served.dispatcher.changed([work_messages[0].run_id, work_messages[1].run_id])
    wait_until("the end is told", lambda: "end" in kinds(told))
    thread.join(timeout=20)
    assert kinds(told).count("run") == 2, "none is told twice"
    assert told[-1][1]["counts"] == {"queued": 0, "active": 0, "succeeded": 1, "failed": 1, "cancelled": 0}
    again: list[tuple[str, dict[str, Any]]] = []
    following(f"{served.address}/api/batches/{batch_id}/events?follow=false", again).join(timeout=20)
    assert kinds(again) == ["progress", "end"]
    assert again[-1][1] == httpx2.get(f"{served.address}/api/batches/{batch_id}").json()
    assert httpx2.get(f"{served.address}/api/batches/none/events").status_code == 404


def test_progress_says_what_waits_and_what_failed_and_names_no_run_where_none_is_wanted(
    served: Served, world: World
) -> None:
    batch_id = submit(served, ["one", "two"])
    work_messages = list(admit_work_messages(world).values())
    told: list[tuple[str, dict[str, Any]]] = []
    thread = following(f"{served.address}/api/batches/{batch_id}/events?runs=false", told)
    wait_until("the process listens", lambda: told and served.listener.hears)
    fail(world, work_messages[0])
    served.dispatcher.changed([work_messages[0].run_id])
    wait_until("the failure is told", lambda: told[-1][1]["errors"])
    assert told[-1][1]["errors"] == {"model_rejected": 1}
    assert [one["runs"] for one in told[-1][1]["waiting"]] == [1]
    httpx2.post(f"{served.address}/api/batches/{batch_id}/pause")
    wait_until("the pause is told", lambda: told[-1][1]["paused_reason"])
    httpx2.post(f"{served.address}/api/batches/{batch_id}/cancel")
    wait_until("all has ended", lambda: admit_work_messages(world) or "end" in kinds(told))
    thread.join(timeout=20)
    assert set(kinds(told)) == {"progress", "end"} and told[-1][1]["state"] == "cancelled"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_without_redis_a_stream_looks_by_itself(
    served: Served, world: World, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "SLOW_S", 1_000.0)
    batch_id = submit(served, ["one"])
    (work_message,) = admit_work_messages(world).values()
    told: list[tuple[str, dict[str, Any]]] = []
    thread = following(f"{served.address}/api/batches/{batch_id}/events", told)
    wait_until("the process listens", lambda: told and served.listener.hears)
    redis_server.stop()
    try:
        answer(world, work_message, "done")
        admit_work_messages(world)
        wait_until("the end is told", lambda: "end" in kinds(told))
        thread.join(timeout=20)
    finally:
        redis_server.start()


def test_nothing_is_published_for_a_while_where_nobody_listens(redis_url: str) -> None:
    client = connect_redis(redis_url)
    hints = Hints(client)
    hints.add(["run_1"])
    wait_until("it is noticed that nobody listens", lambda: hints._deaf_until > 0)
    with client.pubsub(ignore_subscribe_messages=True) as channel:  # type: ignore[no-untyped-call]
        channel.subscribe(HINT_CHANNEL)
        hints._deaf_until = 0.0
        hints.add(["run_2", "run_3"])
        heard = wait_until("it is published", lambda: channel.get_message(timeout=0.1))
        assert json.loads(heard["data"]) == ["run_2", "run_3"]


def test_garbage_in_the_channel_ends_no_listener(redis_url: str) -> None:
    dispatcher = Dispatcher(Celery("test"), connect_redis(redis_url))
    heard = dispatcher.heard()
    assert next(heard) == []
    for garbage in ("{", "7", '{"a": 1}', "[1, null]", b"\xff"):
        dispatcher.redis.publish(HINT_CHANNEL, garbage)
    dispatcher.redis.publish(HINT_CHANNEL, '["run_1"]')
    assert next(found for found in heard if found) == ["run_1"]
    heard.close()  # type: ignore[attr-defined]
