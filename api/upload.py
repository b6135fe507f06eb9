"""A request's body as an iterator that a thread can read, while the event loop receives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeVar

import anyio.from_thread
import anyio.to_thread
import orjson
from fastapi.exceptions import RequestValidationError
from starlette.requests import Request

from api.problems import Problem, TooLarge
from worker.core.errors import UserError

T = TypeVar("T")

AT_ONCE = 8
"""Uploads read at the same time; others wait, so that slow senders leave threads to the rest of the API."""
_PIECE = 256 * 1024


async def read_in_thread(request: Request, max_bytes: int, use: Callable[[Iterator[bytes]], T]) -> T:
    """Runs `use` in a thread over the pieces of the body. Raises `TooLarge` past `max_bytes`."""
    if int(request.headers.get("content-length") or 0) > max_bytes:
        raise _too_large(max_bytes)
    pieces = _pieces(request.stream(), max_bytes)

    def blocking() -> Iterator[bytes]:
        while (piece := anyio.from_thread.run(_next, pieces)) is not None:
            yield piece

    try:
        return await anyio.to_thread.run_sync(use, blocking(), limiter=request.app.state.uploads)
    except (UserError, RequestValidationError):
        # A client that is still sending would otherwise see a broken connection instead of the reason.
        async for _ in pieces:
            continue
        raise


def parsed(body: Iterator[bytes]) -> Any:
    """A whole JSON body. Raises `Problem` for what is not JSON, lone surrogates included, which no database takes."""
    try:
        return orjson.loads(b"".join(body))
    except orjson.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Problem(f"The body is not valid JSON: {error.msg} ({where}).") from error


async def _next(pieces: AsyncIterator[bytes]) -> bytes | None:
    return await anext(pieces, None)


async def _pieces(stream: AsyncIterator[bytes], max_bytes: int) -> AsyncIterator[bytes]:
    """Larger pieces than the network's: crossing to the thread costs more than reading."""
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
