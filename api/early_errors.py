"""Refusals before a request is complete, with the usual error body, and the time limit for its headers."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from api.problems import refusal

HEAD_S = 20.0
"""Time allowed for the request line and headers, from the connection or from their first byte."""
MOST_HEAD_BYTES = 1_000_000
"""Longer headers are refused. A query may contain a long template, whose letters take up to twelve bytes each."""


class Wire(HttpToolsProtocol):
    """Refuses bytes that are not HTTP with the API's usual error body, and closes connections that send no request.

    The server itself limits only the idle time after an answer, and `Guard` only the wait for a body. This class
    limits headers that never arrive or never end, and bytes that keep arriving after the answer.
    """

    _deadline: asyncio.TimerHandle | None = None
    _in_head = False
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_has_come()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.is_closing():
            return
        self._head_bytes += len(data) if self._in_head else 0
        if self._head_bytes > MOST_HEAD_BYTES:
            self._give_up(431, "too_large", f"The headers are larger than {MOST_HEAD_BYTES:,} bytes.")
        elif not self._answering:
            self._wait_for_head()

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head_has_come()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(refusal(400, "bad_request", "The request is not valid HTTP.", "See /docs for the calls."))

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait_for_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_S, self._too_late)

    def _head_has_come(self) -> None:
        self._in_head, self._head_bytes = False, 0
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        self._give_up(408, "timeout", f"The headers did not arrive within {HEAD_S:g} s.")

    def _give_up(self, status: int, code: str, message: str) -> None:
        """Closes the connection. Sends the error first if a request has begun and no answer is being sent."""
        if self._in_head and not self._answering:
            self._refuse(refusal(status, code, message))
        else:
            self.transport.close()

    def _refuse(self, refused: Response) -> None:
        headers = [*refused.raw_headers, (b"connection", b"close")]
        status = HTTPStatus(refused.status_code)
        first = f"HTTP/1.1 {status.value} {status.phrase}".encode()
        lines = [first, *(name + b": " + value for name, value in headers), b"", b""]
        self.transport.write(b"\r\n".join(lines) + bytes(refused.body))
        self.transport.close()
