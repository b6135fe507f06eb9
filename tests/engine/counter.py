"""A loopback server that counts: the effect of tools that must not be repeated, seen from outside the engine."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class CountingServer:
    """Counts POSTs by their path."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        counting = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # the name that http.server asks for
                with counting._lock:
                    counting.counts[self.path.strip("/")] += 1
                self.send_response(204)
                self.end_headers()

            def log_message(self, *args: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def serving(self) -> Iterator[CountingServer]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        yield self
        self._server.shutdown()
        self._server.server_close()
        thread.join()

    def repeated(self) -> dict[str, int]:
        """What was counted more than once."""
        return {key: count for key, count in self.counts.items() if count > 1}
