"""A web server on loopback that behaves as each path asks: well, badly, slowly, too much."""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answer = tuple[int, dict[str, str], bytes]
Page = Callable[[dict[str, str]], Answer]

ARTICLE = """<!doctype html><html lang="en"><head><title>Acme shares rise | Daily Ledger</title>
<meta name="author" content="Dana Field">
<meta property="article:published_time" content="2026-11-27T08:00:00Z"></head>
<body><nav><a href="/a">Home</a> <a href="/b">About</a></nav><article><h1>Acme shares rise</h1>
<p>The share price of Acme rose for the third day in a row, as the company reported better results than expected.</p>
<p>On Friday it closed at <b>104.20</b>, after 101.75 on Thursday.
See <a href="https://example.org/x">the report</a>.</p>
<table><tr><th>Day</th><th>Close</th></tr><tr><td>Thu</td><td>101.75</td></tr><tr><td>Fri</td><td>104.20</td></tr></table>
<p>Analysts had expected less, and several of them have since raised their estimates for the coming year.</p>
</article><footer>Imprint</footer></body></html>"""


class WebServer:
    """Pages by path; `drip` paths never end. Use as a context manager."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.headers: list[dict[str, str]] = []
        self.closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def __enter__(self) -> WebServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def text(
        self, path: str, body: str | bytes, content_type: str = "text/html; charset=utf-8", status: int = 200
    ) -> None:
        data = body.encode() if isinstance(body, str) else body
        self.pages[path] = lambda _: (status, {"Content-Type": content_type}, data)

    def json(self, path: str, body: Any, status: int = 200) -> None:
        self.text(path, json.dumps(body), "application/json", status)

    def redirect(self, path: str, to: str, status: int = 302) -> None:
        self.pages[path] = lambda _: (status, {"Location": to}, b"")

    def bomb(self, path: str, encoding: str = "gzip") -> None:
        """A kilobyte or so that unpacks to 200 MB."""
        plain = bytes(200 * 2**20)
        packed = gzip.compress(plain) if encoding == "gzip" else zlib.compress(plain)
        self.pages[path] = lambda _: (200, {"Content-Type": "text/plain", "Content-Encoding": encoding}, packed)

    def packed(self, path: str, packed: bytes) -> None:
        """These bytes, said to be gzip."""
        self.pages[path] = lambda _: (200, {"Content-Type": "text/plain", "Content-Encoding": "gzip"}, packed)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                outer.requests.append((parts.path, query))
                outer.headers.append(dict(self.headers.items()))
                if parts.path.startswith("/drip"):
                    return self._drip()
                page = outer.pages.get(parts.path)
                status, headers, body = page(query) if page else (404, {"Content-Type": "text/plain"}, b"no such page")
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                return None

            def _drip(self) -> None:
                """A byte now and then, so that no read ever times out."""
                self.send_response(200)
                self.send_header("Content-Type", "text/plain")
                self.end_headers()
                while not outer.closing.wait(0.05):
                    try:
                        self.wfile.write(b"x")
                    except OSError:
                        return

            def log_message(self, format: str, *args: Any) -> None:
                """Quiet."""

        return Handler
