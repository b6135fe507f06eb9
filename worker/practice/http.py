"""The part of HTTP/1.1 that a chat endpoint needs, on bare asyncio, so that faults can reach the socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 64 * 1024 * 1024
_PHRASES = {status.value: status.phrase for status in HTTPStatus}


class BadRequest(Exception):
    """The bytes are not an HTTP request that this server can read."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request; header names are in lower case."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def keep_alive(self) -> bool:
        return self.headers.get("connection", "").lower() != "close"


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """Returns the connection's next request; None if the client closed it between requests."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise BadRequest("the connection ended within a request's head") from error
        return None
    except asyncio.LimitOverrunError as error:
        raise BadRequest("the request's head is too long") from error
    first, *lines = head.decode("latin-1").split("\r\n")
    method, _, rest = first.partition(" ")
    target = urlsplit(rest.partition(" ")[0])
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
    }
    query = {name: values[-1] for name, values in parse_qs(target.query).items()}
    return Request(method, target.path, query, headers, await _read_body(reader, headers))


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return await _read_chunks(reader)
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length) > MAX_BODY_BYTES:
        raise BadRequest(f"content-length {length} is not accepted")
    return await reader.readexactly(int(length))


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    parts: list[bytes] = []
    total = 0
    while size := int((await reader.readline()).split(b";")[0] or b"0", 16):
        total += size
        if total > MAX_BODY_BYTES:
            raise BadRequest("the request's body is too long")
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readline()
    return b"".join(parts)


class Exchange:
    """The answering side of one connection; detects when the client disconnects."""

    def __init__(self, writer: asyncio.StreamWriter, gone: asyncio.Event) -> None:
        self._writer = writer
        self._gone = gone
        self.closing = False
        """True if the connection must not serve another request."""

    @property
    def gone(self) -> bool:
        return self._gone.is_set()

    async def pause(self, seconds: float) -> bool:
        """Waits; returns False, at once, if the client disconnects meanwhile."""
        if seconds > 0 and not self.gone:
            try:
                async with asyncio.timeout(seconds):
                    await self._gone.wait()
            except TimeoutError:
                return not self.gone
        return not self.gone

    async def send_json(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        """Sends a whole response."""
        await self.send_head(status, {"content-type": "application/json", **(headers or {})}, body := encode(value))
        await self.write(body)

    async def send_head(self, status: int, headers: Mapping[str, str], body: bytes | None) -> None:
        """Sends status line and headers; if `body` is None, the body is chunked."""
        framing = "transfer-encoding: chunked" if body is None else f"content-length: {len(body)}"
        lines = [f"HTTP/1.1 {status} {_phrase(status)}", framing]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    async def write(self, data: bytes) -> None:
        if not self.gone:
            self._writer.write(data)
            await self._writer.drain()

    async def write_chunk(self, data: bytes) -> None:
        """Sends one chunk of a chunked body; empty data ends the body."""
        await self.write(b"%x\r\n%s\r\n" % (len(data), data))

    def close(self) -> None:
        """Closes the connection after what is written, even if more was promised."""
        self.closing = True
        self._writer.close()

    def abort(self) -> None:
        """Resets the connection."""
        self.closing = True
        self._writer.transport.abort()


def encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _phrase(status: int) -> str:
    """Returns the reason phrase; "Unusual" for codes such as 529, which have none."""
    return _PHRASES.get(status, "Unusual")
