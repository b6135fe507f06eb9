"""The events of a run are replayed and followed over a real connection, and go on after the last one seen."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from api.app import create_app
from tests.api.conftest import make_context
from tests.api.words import act, admit_work_messages, answer, fail, observe
from tests.services.process import free_port
from tests.services.waiting import wait_until
from tests.store.conftest import World
from worker.store.session import Store


@dataclass(frozen=True)
class Heard:
    """One server-sent event."""

    kind: str
    number: int | None
    data: dict[str, Any]


@pytest.fixture
def address(store: Store, tmp_path: Path) -> Iterator[str]:
    """The API on a real port."""
    context, _, _ = make_context(store, tmp_path)
    port = free_port()
    config = uvicorn.Config(create_app(context), host="127.0.0.1", port=port, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_until("the API listens", lambda: server.started)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(timeout=20)
    assert not thread.is_alive(), "the API did not stop"


def ask(address: str) -> str:
    body = {"question": "What is 1+1?", "klass": "batch"}
    return str(httpx2.post(f"{address}/api/runs", json=body).json()["run_id"])


def hear(address: str, run_id: str, heard: list[Heard], last: int | None = None, follow: bool = True) -> None:
    """Listens until the stream ends."""
    headers = {"Last-Event-ID": str(last)} if last is not None else {}
    url = f"{address}/api/runs/{run_id}/events?follow={follow}"
    with httpx2.stream("GET", url, headers=headers, timeout=20) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        fields: dict[str, str] = {}
        for line in response.iter_lines():
            if line and not line.startswith(":"):
                name, _, value = line.partition(": ")
                fields[name] = value
            elif fields:
                number = int(fields["id"]) if "id" in fields else None
                heard.append(Heard(fields["event"], number, json.loads(fields["data"])))
                fields = {}


def told(heard: list[Heard]) -> list[tuple[str, int | None]]:
    return [(event.kind, event.number) for event in heard if event.kind != "status"]


def test_a_listener_hears_each_event_as_it_happens_until_the_end(address: str, world: World) -> None:
    run_id = ask(address)
    heard: list[Heard] = []
    listener = threading.Thread(target=hear, args=(address, run_id, heard))
    listener.start()
    wait_until("the status is told", lambda: [e for e in heard if e.kind == "status"])
    assert heard[0].data["state"] == "queued"
    work_messages = act(world, admit_work_messages(world)[run_id], calls=2)
    wait_until("the step is told", lambda: told(heard) == [("step", 1)])
    observe(world, work_messages[0], "one")
    wait_until("the observation is told", lambda: told(heard)[-1] == ("observation", 2))
    (work_message,) = observe(world, work_messages[1], "two")
    answer(world, work_message, "both")
    listener.join(timeout=20)
    assert told(heard) == [("step", 1), ("observation", 2), ("observation", 3), ("step", None), ("end", 4)]
    step = next(event for event in heard if event.kind == "step")
    assert [call["tool"] for call in step.data["calls"]] == ["calculator", "calculator"]
    assert heard[-1].data["answer"] == "both" and heard[-1].data["status"] == "succeeded"


def test_a_listener_that_comes_back_goes_on_after_what_it_has(address: str, world: World) -> None:
    run_id = ask(address)
    (work_message,) = act(world, admit_work_messages(world)[run_id])
    fail(world, observe(world, work_message)[0])
    whole: list[Heard] = []
    hear(address, run_id, whole)
    assert told(whole) == [("step", 1), ("observation", 2), ("attempt_failed", None), ("end", 3)]
    for last, rest in [(0, told(whole)), (1, told(whole)[1:]), (2, told(whole)[2:])]:
        again: list[Heard] = []
        hear(address, run_id, again, last=last)
        assert told(again) == rest
    done = httpx2.get(f"{address}/api/runs/{run_id}/events", headers={"Last-Event-ID": "3"})
    assert done.status_code == 204, "a browser must not come back for ever"


def test_without_following_the_stream_ends_with_what_there_is(address: str, world: World) -> None:
    run_id = ask(address)
    act(world, admit_work_messages(world)[run_id])
    heard: list[Heard] = []
    hear(address, run_id, heard, follow=False)
    assert told(heard) == [("step", 1)]
    assert "waits in tools.local" in heard[-1].data["waiting"]


def test_an_upload_that_breaks_off_leaves_nothing(address: str, world: World) -> None:
    def first_run() -> list[object]:
        items: list[object] = httpx2.get(f"{address}/api/runs?limit=1").json()["items"]
        return items

    def broken() -> Iterator[bytes]:
        yield b"Question?\n" * 30_000
        wait_until("some lines are stored", first_run)
        raise ConnectionResetError("the sender is gone")

    with pytest.raises(ConnectionResetError):
        httpx2.post(f"{address}/api/batches", content=broken(), headers={"content-type": "text/plain"})
    wait_until("the half submission is undone", lambda: not first_run(), timeout_s=30)


def test_a_refusal_reaches_a_client_that_is_still_sending(address: str, world: World) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'{"nothing": 1}\n'
        for _ in range(200):
            yield b'{"question": "more"}\n' * 2_000

    answered = httpx2.post(f"{address}/api/batches", content=pieces(), headers={"content-type": "application/x-ndjson"})
    assert answered.status_code == 422 and answered.json()["error"]["line"] == 1
