"""A TCP proxy between workers and a server, so that they can be cut from it and joined again."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit


class Proxy:
    """Forwards to the server of a URL. While cut, connections break and new ones are refused."""

    def __init__(self, target_url: str) -> None:
        self.target_url = target_url
        parts = urlsplit(target_url)
        assert parts.hostname is not None and parts.port is not None
        self._target = (parts.hostname, parts.port)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._cut = False
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]

    @contextmanager
    def serving(self) -> Iterator[Proxy]:
        threading.Thread(target=self._accept, daemon=True).start()
        try:
            yield self
        finally:
            # Closing alone would not wake the thread that waits for a connection.
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self.cut()

    def cut(self) -> None:
        """Breaks every connection, and lets no new one through."""
        with self._lock:
            self._cut = True
            for one in self._open:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def join(self) -> None:
        """Lets connections through again."""
        with self._lock:
            self._cut = False

    @contextmanager
    def gone(self) -> Iterator[None]:
        """Cut for the time of the block."""
        self.cut()
        yield
        self.join()

    @property
    def url(self) -> str:
        """The target's URL with this proxy's address instead of its server's."""
        parts = urlsplit(self.target_url)
        account = parts.netloc.rpartition("@")[0]
        return urlunsplit(parts._replace(netloc=f"{account}@127.0.0.1:{self.port}"))

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            with self._lock:
                if self._cut:
                    return
            with contextlib.suppress(OSError), socket.create_connection(self._target) as server:
                self._join_up(client, server)

    def _join_up(self, client: socket.socket, server: socket.socket) -> None:
        with self._lock:
            if self._cut:
                return
            self._open |= {client, server}
        back = threading.Thread(target=_pump, args=(server, client), daemon=True)
        back.start()
        _pump(client, server)
        back.join()
        with self._lock:
            self._open -= {client, server}


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
