"""Small raw socket servers that answer HTTP well, badly, slowly or not at all."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TLS_DIR = Path(__file__).with_name("tls")
DRIP_PAUSE_S = 0.01


@dataclass
class Request:
    """One request as it came in; header names are in lower case."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Connection:
    """The server's end of one connection."""

    def __init__(self, server: RawServer, sock: socket.socket) -> None:
        self.server = server
        self._sock = sock
        self._buffer = b""

    def read_request(self) -> Request | None:
        """None once the client has closed."""
        while b"\r\n\r\n" not in self._buffer:
            if not self._more():
                return None
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        length = int(headers.get("content-length", "0"))
        while len(self._buffer) < length:
            if not self._more():
                return None
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        request = Request(first.split(" ")[1], headers, json.loads(body or b"{}"))
        self.server.record(request)
        return request

    def send(self, data: bytes) -> None:
        self._sock.sendall(data)

    def drip(self, data: bytes) -> None:
        """Byte by byte until the client or the server closes."""
        for position in range(len(data)):
            if self.server.closing.wait(DRIP_PAUSE_S):
                return
            self.send(data[position : position + 1])

    def hold(self) -> None:
        """Says nothing until the client closes."""
        while self._more():
            continue

    def _more(self) -> bool:
        data = self._sock.recv(65536)
        self._buffer += data
        return bool(data)


@dataclass
class RawServer:
    """Accepts connections on loopback and lets `serve` talk on each, in a thread of its own."""

    serve: Callable[[Connection], None]
    tls: bool = False
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    closed_by_client: int = 0
    closing: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = int(self._listener.getsockname()[1])
        self._threads = [threading.Thread(target=self._accept, name="raw-server")]
        self._threads[0].start()

    @property
    def base_url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/v1"

    def record(self, request: Request) -> None:
        with self._lock:
            self.requests.append(request)

    def close(self) -> None:
        self.closing.set()
        for sock in (self._listener, *self._sockets):
            with suppress(OSError):  # already closed by the other side
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        self._listener.close()

    def _accept(self) -> None:
        while not self.closing.is_set():
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                self._sockets.append(sock)
                thread = threading.Thread(target=self._talk, args=(sock,), name="raw-server-connection")
                self._threads.append(thread)
            thread.start()

    def _talk(self, sock: socket.socket) -> None:
        # The client may go away at any point: many tests want just that.
        with suppress(OSError), _wrapped(sock, self.tls) as stream:
            self.serve(Connection(self, stream))
        with self._lock:
            self.closed_by_client += not self.closing.is_set()


@contextmanager
def _wrapped(sock: socket.socket, tls: bool) -> Iterator[socket.socket]:
    with sock:
        if not tls:
            yield sock
            return
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS_DIR / "localhost-cert.pem", TLS_DIR / "localhost-key.pem")
        with context.wrap_socket(sock, server_side=True) as stream:
            yield stream


def trusting_context() -> ssl.SSLContext:
    """A client's TLS settings that trust the test certificate and nothing else."""
    return ssl.create_default_context(cafile=str(TLS_DIR / "localhost-cert.pem"))


@contextmanager
def serving(serve: Callable[[Connection], None], tls: bool = False) -> Iterator[RawServer]:
    server = RawServer(serve, tls)
    try:
        yield server
    finally:
        server.close()


def http(status: int, body: bytes, headers: dict[str, str] | None = None) -> bytes:
    """A whole HTTP response."""
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def completion(text: str = "hello", **fields: Any) -> bytes:
    """A chat completion's body."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}}
    return json.dumps({"choices": [choice], "usage": usage, **fields}).encode()


def answering(*responses: bytes) -> Callable[[Connection], None]:
    """Answers each request in turn, the last response for ever; keeps connections alive."""

    def serve(connection: Connection) -> None:
        while connection.read_request():
            count = len(connection.server.requests)
            connection.send(responses[min(count, len(responses)) - 1])

    return serve


def mute(connection: Connection) -> None:
    connection.read_request()
    connection.hold()


def drips_headers(connection: Connection) -> None:
    connection.read_request()
    connection.drip(b"HTTP/1.1 200 OK\r\nx-slow: " + b"a" * 100_000)


def drips_body(connection: Connection) -> None:
    connection.read_request()
    connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
    connection.drip(b"x" * 100_000)


def stalls_in_body(connection: Connection) -> None:
    connection.read_request()
    connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\nhalf")
    connection.hold()
