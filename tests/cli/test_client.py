"""The client of the API: what it says when the API refuses or is away, and how it follows a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx2
import pytest

from tests.cli.conftest import Run
from tests.llm.servers import answering, http, serving
from worker.cli.client import Client
from worker.core.errors import UserError
from worker.local.ports import free_port

Handler = Callable[[httpx2.Request], httpx2.Response]


def client_of(handler: Handler, key: str = "") -> Client:
    return Client("http://127.0.0.1:1", key, httpx2.MockTransport(handler), pause=lambda _: None)


def refused_with(status: int, body: object) -> UserError:
    with client_of(lambda _: httpx2.Response(status, json=body)) as client, pytest.raises(UserError) as caught:
        client.get("/api/batches/x")
    return caught.value


def test_a_refusal_is_told_in_the_apis_words() -> None:
    error = refused_with(404, {"error": {"code": "not_found", "message": "There is no batch x.", "hint": "Look."}})
    assert (error.message, error.hint, error.exit_code) == ("There is no batch x.", "Look.", 2)


def test_a_bad_line_is_told_with_its_number() -> None:
    error = refused_with(422, {"error": {"code": "bad_line", "message": "It has no question.", "line": 7}})
    assert error.message == "Line 7: It has no question."


def test_a_service_behind_the_api_that_is_away_ends_with_3() -> None:
    error = refused_with(503, {"error": {"code": "unavailable", "message": "The database is away.", "hint": ""}})
    assert error.exit_code == 3


def test_a_missing_key_is_told_with_the_variable() -> None:
    error = refused_with(401, {"error": {"code": "unauthorized", "message": "A key is needed.", "hint": ""}})
    assert "STEPMILL_API_KEY" in error.hint


def test_a_server_that_is_not_ours_is_told_so() -> None:
    with client_of(lambda _: httpx2.Response(200, text="<html>")) as client, pytest.raises(UserError) as caught:
        client.get("/api/batches")
    assert "is not the stepmill API" in caught.value.message
    assert refused_with(502, "bad gateway").exit_code == 3


def test_the_key_is_sent_as_a_bearer_token() -> None:
    seen = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.headers.get("authorization"))
        return httpx2.Response(200, json={})

    with client_of(handler, "secret") as client:
        client.get("/api/batches")
    assert seen == ["Bearer secret"]


def test_pages_are_read_until_the_last_or_the_limit() -> None:
    def handler(request: httpx2.Request) -> httpx2.Response:
        cursor = int(request.url.params.get("cursor", "0"))
        size = min(int(request.url.params["limit"]), 3)
        items = [{"n": n} for n in range(cursor, min(cursor + size, 8))]
        return httpx2.Response(200, json={"items": items, "next": str(cursor + size) if cursor + size < 8 else None})

    with client_of(handler) as client:
        assert [item["n"] for item in client.pages("/api/runs")] == list(range(8))
        assert [item["n"] for item in client.pages("/api/runs", limit=4)] == [0, 1, 2, 3]


class Breaking(httpx2.SyncByteStream):
    """A body that breaks off."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __iter__(self) -> Iterator[bytes]:
        yield self.text.encode()
        raise httpx2.ReadError("connection reset")


def test_events_are_taken_up_where_the_connection_broke() -> None:
    asked = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.headers.get("last-event-id"))
        if len(asked) == 1:
            return httpx2.Response(200, stream=Breaking('event: step\nid: 1\ndata: {"step": 1}\n\nevent: ob'))
        return httpx2.Response(200, text='event: end\nid: 2\ndata: {"status": "succeeded"}\n\n')

    with client_of(handler) as client:
        events = [(event.kind, event.number) for event in client.events("run_1")]
    assert events == [("step", "1"), ("end", "2")]
    assert asked == [None, "1"]


def test_an_api_that_stays_away_while_following_is_told() -> None:
    def handler(_: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    with client_of(handler) as client, pytest.raises(UserError) as caught:
        list(client.events("run_1"))
    assert caught.value.exit_code == 3


def test_an_upload_is_sent_piece_by_piece() -> None:
    bodies = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        bodies.append((request.headers.get("transfer-encoding"), dict(request.url.params), request.read()))
        return httpx2.Response(201, json={"taken": 2})

    with client_of(handler) as client:
        client.upload("/api/batches", iter([b"one\n", b"two\n"]), "text/plain", {"limit": 2, "skip_invalid": False})
    assert bodies == [("chunked", {"limit": "2"}, b"one\ntwo\n")]


def test_an_api_that_is_away_ends_every_command_with_3(stepmill: Run) -> None:
    ran = stepmill("batch", "list", STEPMILL_API_URL=f"http://127.0.0.1:{free_port()}")
    assert ran.code == 3
    assert "cannot be reached" in ran.err
    assert "stepmill up" in ran.err


def test_without_a_stack_a_command_that_acts_says_how_to_start_one(stepmill: Run) -> None:
    ran = stepmill("batch", "cancel", "batch_1")
    assert ran.code == 3
    assert "No stack runs in" in ran.err
    assert "stepmill up" in ran.err


def test_a_login_in_the_address_is_sent_where_there_is_no_key_and_is_told_nowhere() -> None:
    sent = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.headers["authorization"].partition(" ")[0])
        return httpx2.Response(502, text="bad gateway")

    for key in ("", "a-key"):
        with (
            Client("http://me:hunter22@127.0.0.1:1", key, httpx2.MockTransport(handler)) as client,
            pytest.raises(UserError, match=r"http://127\.0\.0\.1:1/api/batches answered 502") as caught,
        ):
            client.get("/api/batches")
        assert "hunter22" not in client.url + caught.value.message
    assert sent == ["Basic", "Bearer"]


def test_an_api_elsewhere_is_reached_through_the_proxy_which_errors_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(answering(http(200, b'{"items": []}'))) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://me:hunter22@127.0.0.1:{proxy.port}")
        with Client("http://api.example:8321") as client:
            assert client.get("/api/batches") == {"items": []}
    assert [one.path for one in proxy.requests] == ["http://api.example:8321/api/batches"]
    gone = rf"through the proxy http://127\.0\.0\.1:{proxy.port}\)"
    with Client("http://api.example:8321") as client, pytest.raises(UserError, match=gone) as caught:
        client.get("/api/batches")
    assert "NO_PROXY" in caught.value.hint and "hunter22" not in caught.value.message


def test_an_api_on_this_machine_is_reached_past_every_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks9://nowhere")
    with serving(answering(http(200, b'{"items": []}'))) as server, Client(server.base_url) as client:
        assert client.get("/api/batches") == {"items": []}
