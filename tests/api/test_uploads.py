"""Slow and silent clients lose their turn; one submission sent many times at once is one batch."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
import uvicorn
from sqlalchemy import func, select, update

from api import guard, views
from api.app import create_app
from tests.api.conftest import make_context
from tests.services.process import free_port
from tests.services.waiting import wait_until
from worker.store.admission.submit import LEFT_S, NewBatch, open_batch
from worker.store.opening import open_store
from worker.store.schema.tables import batches, runs
from worker.store.session import Store


@contextmanager
def serving(store: Store, data_dir: Path) -> Iterator[str]:
    """One API process more, as far as its clients and the database can tell."""
    context, _, _ = make_context(store, data_dir)
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(create_app(context), host="127.0.0.1", port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_until("the API listens", lambda: server.started)
    # FastAPI makes its routes at the first request, and mutes a warning meanwhile, which two at once cannot.
    assert httpx2.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(timeout=30)
    assert not thread.is_alive(), "the API did not stop"


@pytest.fixture
def address(store: Store, tmp_path: Path) -> Iterator[str]:
    with serving(store, tmp_path) as at:
        yield at


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stated seconds, shortened."""
    monkeypatch.setattr(guard, "PAUSE_S", 1.0)


def begin(address: str, path: str = "/api/batches", sent: bytes = b"0123456789") -> socket.socket:
    """A sender that states a length, sends a little, and then nothing more."""
    at = urlsplit(address)
    talking = socket.create_connection((at.hostname, at.port or 0))
    kind = "text/plain" if path == "/api/batches" else "application/json"
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\nContent-Length: 1000000\r\n\r\n"
    talking.sendall(head.encode() + sent)
    return talking


def said(talking: socket.socket) -> str:
    talking.settimeout(20)
    heard = b""
    while piece := talking.recv(65_536):
        heard += piece
    talking.close()
    return heard.decode()


def post(address: str, key: str, body: str = "One?\nTwo?\n", **params: str) -> httpx2.Response:
    params = {"submission_key": key, **params}
    plain = {"content-type": "text/plain"}
    return httpx2.post(f"{address}/api/batches", params=params, content=body.encode(), headers=plain, timeout=60)


def counted(store: Store) -> tuple[Any, Any]:
    with store.read() as tx:
        return tuple(tx.execute(select(func.count()).select_from(table)).scalar() for table in (batches, runs))  # type: ignore[return-value]


@pytest.mark.parametrize("path", ["/api/batches", "/api/runs", "/api/batches/batch_x/cancel"])
def test_a_body_that_does_not_come_is_given_up_after_the_stated_time(
    address: str, store: Store, impatient: None, path: str
) -> None:
    answer = said(begin(address, path))
    assert answer.startswith("HTTP/1.1 408") and "No part of the body has arrived for 1 s" in answer
    assert counted(store) == (0, 0)


def test_a_body_that_trickles_is_given_up_too(address: str, impatient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "GRACE_S", 1.0)
    talking = begin(address)
    stop = threading.Event()

    def trickle() -> None:
        while not stop.wait(0.1):
            try:
                talking.sendall(b"x")
            except OSError:
                return

    trickling = threading.Thread(target=trickle)
    trickling.start()
    answer = said(talking)
    stop.set()
    trickling.join()
    assert answer.startswith("HTTP/1.1 408") and "bytes a second" in answer


def test_silent_uploads_hold_up_neither_questions_nor_other_uploads(address: str, store: Store) -> None:
    silent = [begin(address) for _ in range(40)] + [begin(address, "/api/runs") for _ in range(40)]
    began = time.monotonic()
    assert httpx2.post(f"{address}/api/runs", json={"question": "Now?"}, timeout=30).status_code == 201
    assert post(address, "k").status_code == 201
    assert time.monotonic() - began < guard.PAUSE_S, "before the silent ones were given up"
    for talking in silent:
        talking.close()
    assert counted(store) == (2, 3)


def test_uploads_that_stop_half_way_leave_places_to_single_questions(address: str) -> None:
    """These have shown a first piece, so each holds a place until it is given up."""
    stopped = [begin(address, sent=(b"What " * 1_000 + b"?\n") * 60) for _ in range(12)]
    assert httpx2.post(f"{address}/api/runs", json={"question": "Now?"}, timeout=8).status_code == 201
    for talking in stopped:
        talking.close()


def test_single_questions_find_a_connection_however_many_read(
    address: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, reading = threading.Event(), []

    def slow(store: Store, batch_id: str) -> None:
        with store.read() as tx:
            reading.append(tx.execute(select(1)).scalar())
            go_on.wait(30)

    monkeypatch.setattr(views, "get_batch", slow)
    with ThreadPoolExecutor(20) as many:
        asked = [many.submit(httpx2.get, f"{address}/api/batches/batch_1", timeout=60) for _ in range(20)]
        wait_until("all who may read do", lambda: len(reading) == 6)
        answer = httpx2.post(f"{address}/api/runs", json={"question": "Now?"}, timeout=20)
        assert answer.status_code == 201 and len(reading) == 6
        go_on.set()
        assert {one.result().status_code for one in asked} == {404}


def test_one_submission_sent_many_times_at_once_over_two_processes_is_one_batch(
    address: str, store: Store, tmp_path: Path
) -> None:
    own = open_store(store.engine.url.render_as_string(hide_password=False))
    with serving(own, tmp_path) as other, ThreadPoolExecutor(10) as many:
        answers = list(many.map(lambda n: post((address, other)[n % 2], "k"), range(10)))
        asked = {"question": "One?", "submission_key": "single"}
        singles = list(many.map(lambda n: httpx2.post(f"{(address, other)[n % 2]}/api/runs", json=asked), range(10)))
    assert sorted(answer.status_code for answer in answers) == [200] * 9 + [201], [a.text for a in answers]
    assert sorted(answer.status_code for answer in singles) == [200] * 9 + [201], [a.text for a in singles]
    assert len({answer.json()["batch_id"] for answer in answers}) == 1
    assert len({answer.json()["run_id"] for answer in singles}) == 1
    assert counted(store) == (2, 3)


def test_another_body_or_option_under_the_same_key_is_refused_and_the_same_one_is_not(address: str) -> None:
    first = post(address, "k").json()["batch_id"]
    assert post(address, "k").json()["batch_id"] == first
    others: list[tuple[str, dict[str, str]]] = [
        ("One?\nThree?\n", {}), ("One?\n", {}), ("One?\nTwo?\n", {"max_steps": "3"})
    ]  # fmt: skip
    for lines, params in others:
        refused = post(address, "k", lines, **params)
        assert refused.status_code == 409 and first in refused.json()["error"]["message"], refused.text
    asked: dict[str, Any] = {"question": "One?", "submission_key": "r"}
    run_id = httpx2.post(f"{address}/api/runs", json=asked).json()["run_id"]
    again = httpx2.post(f"{address}/api/runs", json=dict(reversed(asked.items())))
    assert again.status_code == 200 and again.json()["run_id"] == run_id, "the order of fields does not count"
    assert httpx2.post(f"{address}/api/runs", json=asked | {"max_steps": 3}).status_code == 409
    body: dict[str, Any] = {"runs": ["a"], "submission_key": "j"}
    assert [httpx2.post(f"{address}/api/batches", json=body).status_code for _ in range(2)] == [201, 200]
    assert httpx2.post(f"{address}/api/batches", json=body | {"runs": ["b"]}).status_code == 409


def test_a_batch_of_an_older_version_is_found_by_its_key_alone(address: str, store: Store) -> None:
    first = post(address, "k").json()["batch_id"]
    with store.write() as tx:
        tx.execute(update(batches).values(fingerprint=None))
    assert post(address, "k", "Other?\n").json()["batch_id"] == first


def test_the_key_of_a_submission_that_crashed_is_free_again(address: str, store: Store) -> None:
    crashed, _ = open_batch(store, NewBatch(submission_key="k"))
    with store.write() as tx:
        tx.execute(update(batches).values(filled_at=batches.c.filled_at - LEFT_S - 1))
    answer = post(address, "k")
    assert answer.status_code == 201 and answer.json()["batch_id"] != crashed
    assert counted(store) == (1, 2)


def test_a_live_upload_however_slow_is_never_discarded_by_the_same_submission(address: str, store: Store) -> None:
    goes_on = threading.Event()

    def slowly() -> Iterator[bytes]:
        yield (b"What " * 1_000 + b"?\n") * 60
        goes_on.wait(20)
        yield b"Last?\n"

    url, plain = f"{address}/api/batches?submission_key=k", {"content-type": "text/plain"}

    def send() -> httpx2.Response:
        return httpx2.post(url, content=slowly(), headers=plain, timeout=60)

    with ThreadPoolExecutor(2) as two:
        first = two.submit(send)
        wait_until("the first has begun", lambda: counted(store)[0] == 1)
        second = two.submit(send)
        assert not second.done()
        goes_on.set()
        answers = [first.result(timeout=60), second.result(timeout=60)]
    assert [answer.status_code for answer in answers] == [201, 200], [a.text for a in answers]
    assert counted(store) == (1, 61) and json.loads(answers[1].text)["existing"]
