"""A model call ends at its deadline or when it is aborted, whatever the server does."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator

import httpx2
import pytest

from tests.llm import servers
from tests.llm.servers import Connection, RawServer, answering, completion, http, serving
from tests.services.waiting import wait_until
from worker.core.errors import ModelTimeout, Stopped, StopReason, Unreachable
from worker.core.records import Usage
from worker.llm.client import CONNECT_TIMEOUT_S, ModelClient, ModelReply
from worker.llm.endpoint import ModelRequest
from worker.llm.proxies import Proxy
from worker.llm.sockets import guard
from worker.llm.watchdog import Abort

REQUEST = ModelRequest("m", [{"role": "user", "content": "hi"}])
SLOW = [servers.mute, servers.drips_headers, servers.drips_body, servers.stalls_in_body]
RETURN_S = 0.5


def client_of(server: RawServer) -> ModelClient:
    verify = servers.trusting_context() if server.tls else True
    http_client = guard(httpx2.Client(verify=verify, timeout=httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S)))
    return ModelClient(server.base_url, "key", http=http_client)


class Calling:
    """A call in a thread of its own, as a worker makes it."""

    def __init__(self, client: ModelClient, deadline_s: float = 30.0) -> None:
        self.abort = Abort()
        self.result: ModelReply | BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(client, deadline_s))
        self._thread.start()

    def _run(self, client: ModelClient, deadline_s: float) -> None:
        try:
            self.result = client.complete(REQUEST, deadline_s, self.abort)
        except BaseException as exc:
            self.result = exc

    def join(self) -> ModelReply | BaseException | None:
        self._thread.join(20)
        assert not self._thread.is_alive(), "the call never returned"
        return self.result


@pytest.mark.parametrize("tls", [False, True], ids=["http", "tls"])
@pytest.mark.parametrize("serve", SLOW)
def test_the_deadline_is_total_even_when_the_server_drips(serve: Callable[[Connection], None], tls: bool) -> None:
    with serving(serve, tls) as server:
        client = client_of(server)
        started = time.monotonic()
        with pytest.raises(ModelTimeout, match=r"within 0\.4 s"):
            client.complete(REQUEST, 0.4, Abort())
        assert 0.39 <= time.monotonic() - started < 0.4 + RETURN_S
        wait_until("the server sees the connection closed", lambda: server.closed_by_client == 1)
        client.close()


@pytest.mark.parametrize("tls", [False, True], ids=["http", "tls"])
@pytest.mark.parametrize("serve", SLOW)
@pytest.mark.parametrize("reason", [StopReason.CANCEL, StopReason.HAND_BACK])
def test_an_abort_from_another_thread_ends_the_call_at_once(
    serve: Callable[[Connection], None], tls: bool, reason: StopReason
) -> None:
    with serving(serve, tls) as server:
        client = client_of(server)
        calling = Calling(client)
        wait_until("the request arrived", lambda: server.requests)
        started = time.monotonic()
        assert calling.abort.abort(reason)
        result = calling.join()
        assert time.monotonic() - started < RETURN_S
        assert isinstance(result, Stopped)
        assert result.reason is reason
        assert result.usage is None, "nobody knows what the endpoint counted"
        wait_until("the server sees the connection closed", lambda: server.closed_by_client == 1)
        client.close()


def test_an_aborted_connection_is_not_used_again_and_others_are() -> None:
    def first_mute_then_good(connection: Connection) -> None:
        while connection.read_request():
            if len(connection.server.requests) == 1:
                connection.hold()
                return
            connection.send(http(200, completion()))

    with serving(first_mute_then_good) as server:
        client = client_of(server)
        calling = Calling(client)
        wait_until("the request arrived", lambda: server.requests)
        calling.abort.abort(StopReason.CANCEL)
        assert isinstance(calling.join(), Stopped)
        for _ in range(5):
            assert client.complete(REQUEST, 5, Abort()).reply.text == "hello"
        assert server.connections == 2
        client.close()


@pytest.mark.parametrize("tls", [False, True], ids=["http", "tls"])
def test_a_kept_alive_connection_can_be_aborted_too(tls: bool) -> None:
    def good_then_mute(connection: Connection) -> None:
        connection.read_request()
        connection.send(http(200, completion()))
        servers.mute(connection)

    with serving(good_then_mute, tls) as server:
        client = client_of(server)
        client.complete(REQUEST, 5, Abort())
        calling = Calling(client)
        wait_until("the second request arrived", lambda: len(server.requests) == 2)
        calling.abort.abort(StopReason.HAND_BACK)
        assert isinstance(calling.join(), Stopped)
        assert server.connections == 1
        client.close()


def test_a_call_aborted_before_its_start_sends_nothing_and_costs_nothing() -> None:
    with serving(answering(http(200, completion()))) as server:
        abort = Abort()
        abort.abort(StopReason.CANCEL)
        client = client_of(server)
        with pytest.raises(Stopped) as caught:
            client.complete(REQUEST, 5, abort)
        assert caught.value.usage is not None
        assert server.connections == 0
        client.close()


def test_an_abort_after_the_end_leaves_the_connection_to_its_next_user() -> None:
    with serving(answering(http(200, completion()))) as server:
        client = client_of(server)
        for _ in range(3):
            abort = Abort()
            client.complete(REQUEST, 5, abort)
            abort.abort(StopReason.CANCEL)
        assert client.complete(REQUEST, 5, Abort()).reply.text == "hello"
        assert server.connections == 1
        client.close()


@pytest.fixture
def full_listener() -> Iterator[int]:
    """A port whose queue of connections is full, so that a further one gets no answer."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=0)
    waiting = [socket.socket() for _ in range(3)]
    for sock in waiting:
        sock.setblocking(False)
        sock.connect_ex(listener.getsockname())
    yield int(listener.getsockname()[1])
    for sock in (*waiting, listener):
        sock.close()


def test_connecting_ends_at_the_deadline(full_listener: int) -> None:
    client = ModelClient(f"http://127.0.0.1:{full_listener}/v1", "key")
    started = time.monotonic()
    with pytest.raises(ModelTimeout) as caught:
        client.complete(REQUEST, 0.3, Abort())
    assert time.monotonic() - started < 0.3 + RETURN_S
    assert caught.value.usage == Usage(), "nothing was sent, so nothing was used"
    client.close()


def test_connecting_ends_on_an_abort(full_listener: int) -> None:
    client = ModelClient(f"http://127.0.0.1:{full_listener}/v1", "key")
    calling = Calling(client)
    wait_until("the thread blocks on its socket", lambda: calling.abort._socket is not None)
    started = time.monotonic()
    calling.abort.abort(StopReason.CANCEL)
    result = calling.join()
    assert time.monotonic() - started < RETURN_S
    assert isinstance(result, Stopped)
    assert result.usage == Usage()
    client.close()


def test_a_call_through_a_proxy_is_aborted_just_the_same() -> None:
    with serving(servers.drips_body) as proxy:
        client = ModelClient("http://model.invalid/v1", "key", proxy=Proxy(proxy.base_url.removesuffix("/v1")))
        calling = Calling(client)
        wait_until("the proxy got the request", lambda: proxy.requests)
        calling.abort.abort(StopReason.CANCEL)
        assert isinstance(calling.join(), Stopped)
        assert proxy.requests[0].path == "http://model.invalid/v1/chat/completions"
        client.close()


def test_a_silent_tls_handshake_ends_at_the_deadline_and_on_an_abort() -> None:
    with serving(lambda connection: connection.hold()) as server:
        client = ModelClient(server.base_url.replace("http://", "https://"), "key")
        with pytest.raises(ModelTimeout):
            client.complete(REQUEST, 0.3, Abort())
        calling = Calling(client)
        wait_until("the thread blocks on its socket", lambda: calling.abort._socket is not None)
        calling.abort.abort(StopReason.CANCEL)
        assert isinstance(calling.join(), Stopped)
        client.close()


def test_a_certificate_nobody_vouches_for_is_refused() -> None:
    with serving(answering(http(200, completion())), tls=True) as server:
        client = ModelClient(server.base_url, "key")
        with pytest.raises(Unreachable, match="certificate"):
            client.complete(REQUEST, 5, Abort())
        client.close()
