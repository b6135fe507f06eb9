"""Lets a thread read a request's body as an iterator while the event loop receives it."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
import orjson
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from api.problems import Busy, Problem, TooLarge
from worker.core.errors import UserError

T = TypeVar("T")

UPLOADS_AT_ONCE = 8
"""Uploads read at once; others wait, so that slow clients leave threads for the rest of the API."""
OF_ONE_CLIENT = 4
"""Uploads of one client (an address with its key) among these."""
WAITING = 64
"""Uploads of one client that may wait for their turn."""
WAIT_S = 120.0
"""Longest wait of an upload for its turn."""
ASKED_AT_ONCE = 16
"""Single questions read at once. They have their own limit, so that they never wait for uploads."""
_PIECE = 256 * 1024


class Rooms:
    """Limits how many request bodies are processed at once."""

    def __init__(self) -> None:
        self.asks = anyio.CapacityLimiter(ASKED_AT_ONCE)
        self.uploads = anyio.CapacityLimiter(UPLOADS_AT_ONCE)
        self._clients: dict[str, anyio.CapacityLimiter] = {}
        self._here: Counter[str] = Counter()

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncIterator[None]:
        """Waits for this client's turn. Raises `Busy` if too many of its uploads wait, or if it waits too long."""
        if self._here[client] >= OF_ONE_CLIENT + WAITING:
            raise Busy(f"{self._here[client]} uploads of this client are in progress.")
        self._here[client] += 1
        mine = self._clients.setdefault(client, anyio.CapacityLimiter(OF_ONE_CLIENT))
        try:
            with anyio.move_on_after(WAIT_S) as waiting:
                await mine.acquire()
            if waiting.cancelled_caught:
                raise Busy(f"Other uploads of this client have been in progress for {WAIT_S:.0f} s.")
            try:
                yield
            finally:
                mine.release()
        finally:
            self._here[client] -= 1
            if not self._here[client]:
                del self._here[client], self._clients[client]


async def read_in_thread(request: Request, max_bytes: int, use: Callable[[Iterator[bytes]], T]) -> T:
    """Runs `use` in a thread over the pieces of the body. Raises `TooLarge` past `max_bytes`.

    A client gets its turn only once its first piece has arrived, so that one that sends nothing blocks no other.
    """
    pieces = _checked_pieces(request, max_bytes)
    rooms: Rooms = request.app.state.rooms
    try:
        first = await anext(pieces, b"")
        async with rooms.turn(_client(request)):
            return await anyio.to_thread.run_sync(use, _blocking(first, pieces), limiter=rooms.uploads)
    except (UserError, RequestValidationError):
        # A client that is still sending would otherwise see a broken connection instead of the reason.
        with suppress(HTTPException):
            async for _ in pieces:
                continue
        raise


async def read_whole(request: Request, max_bytes: int, use: Callable[[Iterator[bytes]], T]) -> T:
    """Receives a small body, then runs `use` over it in a thread reserved for single questions."""
    body = b"".join([piece async for piece in _checked_pieces(request, max_bytes)])
    rooms: Rooms = request.app.state.rooms
    return await anyio.to_thread.run_sync(use, iter([body]), limiter=rooms.asks)


def parsed(body: Iterator[bytes]) -> Any:
    """Parses a JSON body. Raises `Problem` if it is invalid; lone surrogates are, because databases reject them."""
    try:
        return orjson.loads(b"".join(body))
    except orjson.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Problem(f"The body is not valid JSON: {error.msg} ({where}).") from error


def _client(request: Request) -> str:
    host = request.client.host if request.client else ""
    return f"{host} {request.headers.get('authorization', '')}"


def _blocking(first: bytes, pieces: AsyncIterator[bytes]) -> Iterator[bytes]:
    piece: bytes | None = first
    while piece is not None:
        yield piece
        piece = anyio.from_thread.run(_next, pieces)


async def _next(pieces: AsyncIterator[bytes]) -> bytes | None:
    return await anext(pieces, None)


def _checked_pieces(request: Request, max_bytes: int) -> AsyncIterator[bytes]:
    length = request.headers.get("content-length", "0")  # digits: the guard has checked
    if len(length) > 15 or int(length) > max_bytes:
        raise _too_large(max_bytes)
    return _pieces(request.stream(), max_bytes)


async def _pieces(stream: AsyncIterator[bytes], max_bytes: int) -> AsyncIterator[bytes]:
    """Yields larger pieces than the network's, because each hand-over to the thread is expensive."""
    received, held = 0, bytearray()
    async for part in stream:
        received += len(part)
        if received > max_bytes:
            raise _too_large(max_bytes)
        held += part
        if len(held) >= _PIECE:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)


def _too_large(max_bytes: int) -> TooLarge:
    message = f"The input is larger than {max_bytes:,} bytes."
    return TooLarge(message, "Split it, or raise STEPMILL_MAX_BATCH_BYTES.")
