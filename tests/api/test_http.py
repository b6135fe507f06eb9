"""What HTTP promises: HEAD, OPTIONS, Allow, types of bodies, bounds; each refusal in the same form."""

from __future__ import annotations

import json
import logging
import socket
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest
import uvicorn

from api import early_errors as wire_module
from api.app import create_app
from api.binding import same_origin
from api.early_errors import MOST_HEAD_BYTES, Wire
from api.guard import MAX_BODY_BYTES
from tests.api.conftest import Api, make_context
from tests.services.process import free_port
from tests.services.waiting import wait_until
from worker.store.queries.runs import PAGE_CHARS, Filter, all_of_batch
from worker.store.session import Store

ON_ONE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def port(store: Store, tmp_path: Path) -> Iterator[int]:
    """The API on a real port, as `serve` runs it."""
    context, _, _ = make_context(store, tmp_path)
    free = free_port()
    config = uvicorn.Config(create_app(context), host="127.0.0.1", port=free, log_level="warning", http=Wire)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_until("the API listens", lambda: server.started)
    yield free
    server.should_exit = True
    thread.join(timeout=20)
    assert not thread.is_alive(), "the API did not stop"


@ON_ONE
def test_head_answers_as_get_does_without_a_body(port: int) -> None:
    base = f"http://127.0.0.1:{port}"
    run_id = httpx2.post(f"{base}/api/runs", json={"question": "x", "klass": "batch"}).json()["run_id"]
    paths = ["/api/batches", "/api/queues", "/healthz", "/docs", "/openapi.json", f"/api/runs/{run_id}/events"]
    for path in paths:
        head = httpx2.head(f"{base}{path}", timeout=10)
        assert head.status_code == 200 and head.content == b"", path
    assert httpx2.head(f"{base}/api/runs/none").status_code == 404
    assert httpx2.head(f"{base}/api/runs/{run_id}/cancel").status_code == 405


@ON_ONE
@pytest.mark.parametrize(
    ("path", "allow"),
    [
        ("/api/batches", "GET, HEAD, OPTIONS, POST"), ("/api/runs/r", "GET, HEAD, OPTIONS"),
        ("/api/batches/b/cancel", "OPTIONS, POST"), ("/healthz", "GET, HEAD, OPTIONS"), ("/docs", "GET, HEAD, OPTIONS"),
    ],
)  # fmt: skip
def test_a_wrong_method_is_told_the_right_ones(api: Api, path: str, allow: str) -> None:
    for method in ("DELETE", "PUT", "PATCH"):
        refused = api.client.request(method, path)
        assert refused.status_code == 405 and refused.headers["allow"] == allow
        assert refused.json()["error"]["code"] == "bad_request"
    asked = api.client.options(path)
    assert asked.status_code == 204 and asked.headers["allow"] == allow
    assert api.client.options("/nothing").status_code == 404


@ON_ONE
@pytest.mark.parametrize("path", ["/api/runs", "/api/batches", "/api/runs/r/refuse", "/api/models/m/pause"])
def test_a_body_of_another_type_is_refused(api: Api, path: str) -> None:
    for kind in ("application/xml", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        refused = api.client.post(path, content=b"{}", headers={"content-type": kind})
        assert refused.status_code == 415 and refused.json()["error"]["code"] == "unsupported_type", refused.text


@ON_ONE
def test_a_batch_that_there_is_not_is_not_found_wherever_it_is_named(api: Api) -> None:
    gets = ["/api/batches/none", "/api/batches/none/results", "/api/runs?batch=none", "/api/runs?batch=none&cursor=3"]
    posts = [f"/api/batches/none/{verb}" for verb in ("cancel", "pause", "resume", "retry")]
    for answer in [*map(api.client.get, gets), *map(api.client.post, posts)]:
        assert answer.status_code == 404 and answer.json()["error"]["code"] == "not_found", answer.url


@ON_ONE
@pytest.mark.parametrize("cursor", ["²", "9" * 30, "-1", "run_", "batch_ZZZ", "x", "run_a b", "", "٣"])
def test_a_cursor_that_no_page_gave_is_refused(api: Api, cursor: str) -> None:
    batch_id = api.client.post("/api/batches", json={"runs": ["x"]}).json()["batch_id"]
    for path in ("/api/runs", "/api/batches", f"/api/runs?batch={batch_id}"):
        refused = api.client.get(path, params={"cursor": cursor} | ({"batch": batch_id} if "?" in path else {}))
        assert refused.status_code == 422 and refused.json()["error"]["code"] == "bad_request", (path, cursor)


@pytest.mark.parametrize("name", ["limit", "days", "after", "budget_usd"])
@pytest.mark.parametrize("value", ["²", "9" * 30, "-1", "1e400", "nan", "", "0x10", "%00"])
def test_numbers_out_of_range_are_refused(api: Api, name: str, value: str) -> None:
    run = api.client.post("/api/runs", json={"question": "x"}).json()
    path = {
        "limit": "/api/runs",
        "days": "/api/usage",
        "after": f"/api/runs/{run['run_id']}/events",
        "budget_usd": f"/api/batches/{run['batch_id']}/resume",
    }[name]
    refused = api.client.request("POST" if name == "budget_usd" else "GET", f"{path}?{name}={value}")
    assert refused.status_code == 422 and refused.json()["error"]["message"]


def test_ids_of_any_length_and_letters_are_merely_unknown(api: Api) -> None:
    for text in ("x" * 7_000, "%ff%fe", "🚀", "..%2f..", "%0a", "' or 1=1 --"):
        for path in (f"/api/runs/{text}", f"/api/batches/{text}", f"/api/artifacts/{text}", f"/api/runs?batch={text}"):
            assert api.client.get(path).status_code == 404, path
    assert api.client.get("/api/runs/%00").status_code == 422


@ON_ONE
def test_a_body_that_grows_beyond_the_bound_while_it_comes_is_too_large(port: int) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'{"reason": "'
        for _ in range(MAX_BODY_BYTES // 50_000 + 2):
            yield b"x" * 50_000

    url = f"http://127.0.0.1:{port}/api/models/m/pause"
    refused = httpx2.post(url, content=pieces(), headers={"content-type": "application/json"})
    assert refused.status_code == 413 and refused.json()["error"]["code"] == "too_large"


@ON_ONE
def test_what_is_no_http_is_refused_in_the_same_form(port: int) -> None:
    for sent in (
        b"GARBAGE\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /api/runs HTTP/1.1\r\nContent-Length: x\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as wire:
            wire.sendall(sent)
            answer = b"".join(iter(lambda: wire.recv(65536), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400") and b"application/json" in head
        assert body.startswith(b'{"error":{"code":"bad_request"')


@ON_ONE
def test_a_client_that_goes_away_is_no_fault(port: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        for path, kind in (
            ("/api/runs", "application/json"),
            ("/api/batches", "text/csv"),
            ("/api/runs/r/refuse", "x"),
        ):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as wire:
                head = (
                    f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\nContent-Length: 900000\r\n\r\n"
                )
                wire.sendall(head.encode() + b"x" * 300_000)
        base = f"http://127.0.0.1:{port}"
        run_id = httpx2.post(f"{base}/api/runs", json={"question": "x", "klass": "batch"}).json()["run_id"]
        with httpx2.stream("GET", f"{base}/api/runs/{run_id}/events") as stream:
            next(stream.iter_lines())
        wait_until("uploads that broke off are gone", lambda: httpx2.get(f"{base}/healthz").status_code == 200)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR or record.exc_info]


@pytest.mark.parametrize(
    ("origin", "scheme", "host", "same"),
    [
        ("http://127.0.0.1:8321", "http", "127.0.0.1:8321", True), ("http://127.0.0.1", "http", "127.0.0.1:80", True),
        ("http://LOCALHOST:8321", "http", "localhost:8321", True), ("http://[::1]:8321", "http", "[::1]:8321", True),
        ("http://[::1]", "http", "[::1]:80", True), ("https://localhost", "https", "localhost:443", True),
        ("http://127.0.0.1:3000", "http", "127.0.0.1:8321", False), ("null", "http", "127.0.0.1", False),
        ("http://localhost:8321", "http", "127.0.0.1:8321", False),
        ("http://127.0.0.1", "http", "127.0.0.1:8321", False),
        ("https://127.0.0.1:8321", "http", "127.0.0.1:8321", False), ("http://[::1]", "http", "[::1]:8321", False),
        ("127.0.0.1:8321", "http", "127.0.0.1:8321", False), ("", "http", "127.0.0.1", False),
    ],
)  # fmt: skip
def test_an_origin_is_scheme_name_and_port(origin: str, scheme: str, host: str, same: bool) -> None:
    assert same_origin(origin, scheme, host) is same


def test_a_reader_of_large_rows_holds_few_of_them(api: Api) -> None:
    text = "x" * 900
    lines = "".join(f'{{"question": "{text}", "metadata": {{"n": "{text * 100}"}}}}\n' for _ in range(100))
    kind = {"content-type": "application/x-ndjson"}
    batch_id = api.client.post("/api/batches", content=lines, headers=kind).json()["batch_id"]
    pages = all_of_batch(api.context.store, Filter(batch_id=batch_id))
    tracemalloc.start()
    seen = []
    for page in pages:
        assert sum(len(row.question) + len(row.metadata["n"]) for row in page) < PAGE_CHARS + 200_000
        seen += [row.seq for row in page]
    assert seen == list(range(1, 101))
    assert tracemalloc.get_traced_memory()[1] < 6_000_000
    tracemalloc.stop()


def heard(wire: socket.socket) -> bytes:
    """What comes until the server closes."""
    wire.settimeout(20)
    return b"".join(iter(lambda: wire.recv(65536), b""))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stated seconds, shortened."""
    monkeypatch.setattr(wire_module, "HEAD_S", 0.5)


def trickling(wire: socket.socket, piece: bytes) -> threading.Thread:
    """Sends a little again and again until the connection is closed or a test's patience is over."""

    def send() -> None:
        with suppress(OSError):
            for _ in range(200):
                wire.sendall(piece)
                threading.Event().wait(0.1)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


@ON_ONE
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("answered", [False, True], ids=["first", "after an answer"])
@pytest.mark.parametrize("sent", [b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"G"])
def test_headers_that_do_not_come_are_given_up_after_the_stated_time(port: int, sent: bytes, answered: bool) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as wire:
        if answered:
            wire.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert wire.recv(65536).startswith(b"HTTP/1.1 200")
        wire.sendall(sent)
        head, _, body = heard(wire).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 Request Timeout\r\n") and b"connection: close" in head
    assert json.loads(body)["error"]["message"] == "The headers did not arrive within 0.5 s."


@ON_ONE
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("piece", [b"X: y\r\n", b"X"], ids=["lines", "letters"])
def test_headers_that_trickle_are_given_up_too(port: int, piece: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as wire:
        wire.sendall(b"GET /healthz HTTP/1.1\r\n")
        thread = trickling(wire, piece)
        assert wire.recv(65536).startswith(b"HTTP/1.1 408")
        wire.close()
        thread.join()


@ON_ONE
@pytest.mark.usefixtures("impatient")
def test_a_connection_that_says_nothing_is_closed_without_a_word(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as wire:
        assert heard(wire) == b""


@ON_ONE
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("piece", [b"\r\n", b"x"], ids=["empty lines", "the rest of a refused body"])
def test_what_trickles_behind_an_answer_keeps_no_connection(port: int, piece: bytes) -> None:
    asked = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    if piece == b"x":
        asked = b"POST /api/batches/b/cancel HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9000000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=10) as wire:
        wire.sendall(asked)
        assert wire.recv(65536).startswith((b"HTTP/1.1 200", b"HTTP/1.1 413"))
        thread = trickling(wire, piece)
        assert b"HTTP/1.1" not in heard(wire)
        thread.join()


@ON_ONE
@pytest.mark.usefixtures("impatient")
def test_no_time_runs_while_a_request_is_answered(port: int) -> None:
    base = f"http://127.0.0.1:{port}"
    run_id = httpx2.post(f"{base}/api/runs", json={"question": "x", "klass": "batch"}).json()["run_id"]
    threading.Timer(1.5, lambda: httpx2.post(f"{base}/api/runs/{run_id}/cancel")).start()
    with httpx2.stream("GET", f"{base}/api/runs/{run_id}/events", timeout=20) as stream:
        assert "event: end" in list(stream.iter_lines())


@ON_ONE
@pytest.mark.parametrize("answering", [False, True], ids=["at rest", "while an answer is under way"])
def test_headers_without_end_are_refused(port: int, answering: bool) -> None:
    base = f"http://127.0.0.1:{port}"
    run_id = httpx2.post(f"{base}/api/runs", json={"question": "x", "klass": "batch"}).json()["run_id"]
    with socket.create_connection(("127.0.0.1", port), timeout=10) as wire:
        if answering:
            wire.sendall(f"GET /api/runs/{run_id}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            begun = b""
            while b"event: status" not in begun:
                begun += wire.recv(65536)
        # Not a byte more than is read: what is left unread would break the connection before the answer is seen.
        wire.sendall((b"GET /healthz HTTP/1.1\r\nX: " + b"y" * MOST_HEAD_BYTES)[: MOST_HEAD_BYTES + 1])
        left = heard(wire)
    assert (b"HTTP/1.1" not in left) if answering else left.startswith(b"HTTP/1.1 431")
    assert httpx2.get(f"{base}/healthz").status_code == 200
