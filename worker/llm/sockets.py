"""The model client's connections: every blocking step is limited by its call's deadline and can be interrupted."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
from collections.abc import Iterable, Iterator
from typing import Any

import httpcore2
import httpx2

from worker.llm.watchdog import AbortedError, blocking

SocketOption = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]


@contextlib.contextmanager
def _mapped(timed_out: type[Exception], failed: type[Exception]) -> Iterator[None]:
    try:
        yield
    except TimeoutError as exc:
        raise timed_out(str(exc)) from exc
    except OSError as exc:
        raise failed(str(exc)) from exc


class GuardedStream(httpcore2.NetworkStream):
    """A connection whose blocking steps all belong to the calling thread's model call."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with _mapped(httpcore2.ReadTimeout, httpcore2.ReadError):
            return blocking(self._sock, timeout, lambda: self._sock.recv(max_bytes))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        rest = memoryview(buffer)
        with _mapped(httpcore2.WriteTimeout, httpcore2.WriteError):
            while rest:
                rest = rest[self._send(rest, timeout) :]

    def _send(self, data: memoryview, timeout: float | None) -> int:
        return blocking(self._sock, timeout, lambda: self._sock.send(data))

    def close(self) -> None:
        self._sock.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        if isinstance(self._sock, ssl.SSLSocket):
            self.close()
            raise httpcore2.ConnectError("a proxy that is itself spoken to over https is not supported: use http://")
        with _mapped(httpcore2.ConnectTimeout, httpcore2.ConnectError):
            # The handshake is a separate step on the new socket object: wrapping takes the old one's descriptor.
            tls = ssl_context.wrap_socket(self._sock, server_hostname=server_hostname, do_handshake_on_connect=False)
            try:
                blocking(tls, timeout, tls.do_handshake)
            except BaseException:
                tls.close()
                raise
        return GuardedStream(tls)

    def get_extra_info(self, info: str) -> Any:
        match info:
            case "ssl_object":
                return self._sock if isinstance(self._sock, ssl.SSLSocket) else None
            case "client_addr":
                return self._sock.getsockname()
            case "server_addr":
                return self._sock.getpeername()
            case "socket":
                return self._sock
            case "is_readable":
                return _is_readable(self._sock)
        return None


def _is_readable(sock: socket.socket) -> bool:
    """Whether an idle connection was closed by the server (or holds data that was not requested)."""
    if sock.fileno() < 0:
        return True
    poll = select.poll()
    poll.register(sock.fileno(), select.POLLIN)
    return bool(poll.poll(0))


class GuardedBackend(httpcore2.NetworkBackend):
    """Opens guarded connections. Only the name lookup can be neither time-limited nor aborted."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> httpcore2.NetworkStream:
        options = (*(socket_options or ()), (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1))
        with _mapped(httpcore2.ConnectTimeout, httpcore2.ConnectError):
            failure = OSError(f"{host} has no address")
            for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                sock = socket.socket(family, kind, protocol)
                try:
                    _connect(sock, address, timeout, local_address, options)
                except AbortedError:
                    raise
                except OSError as exc:
                    failure = exc
                else:
                    return GuardedStream(sock)
            raise failure


def _connect(
    sock: socket.socket,
    address: Any,
    timeout_s: float | None,
    local_address: str | None,
    options: Iterable[SocketOption],
) -> None:
    try:
        for option in options:
            sock.setsockopt(*option)
        if local_address is not None:
            sock.bind((local_address, 0))
        blocking(sock, timeout_s, lambda: sock.connect(address))
    except BaseException:
        sock.close()
        raise


def guard(client: httpx2.Client) -> httpx2.Client:
    """Makes all connections of a new client, those through proxies included, use guarded sockets."""
    for transport in (client._transport, *client._mounts.values()):
        if transport is not None:
            if not isinstance(transport, httpx2.HTTPTransport):
                raise TypeError(f"cannot guard {type(transport).__name__}: only plain HTTP transports")
            transport._pool._network_backend = GuardedBackend()
    return client
