"""Accepts connections, reads their requests and passes them to the practice model."""

from __future__ import annotations

import asyncio
import logging
import socket

from worker.practice.app import PracticeModel
from worker.practice.config import Config
from worker.practice.http import MAX_HEAD_BYTES, BadRequest, Exchange, Request, read_request
from worker.practice.refusals import error_body

_log = logging.getLogger(__name__)
_BACKLOG = 2048
_CLOSING = {"connection": "close"}


class _Connection(asyncio.StreamReaderProtocol):
    """A stream protocol that notices when the client disconnects, also while a request is being handled."""

    def __init__(self, server: Server, loop: asyncio.AbstractEventLoop) -> None:
        self.gone = asyncio.Event()
        reader = asyncio.StreamReader(limit=MAX_HEAD_BYTES, loop=loop)
        super().__init__(reader, lambda reader, writer: server.converse(reader, writer, self.gone), loop=loop)

    def eof_received(self) -> bool | None:
        self.gone.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()
        super().connection_lost(exc)


class Server:
    """A practice model on a port. Start and stop it within one event loop."""

    def __init__(self, config: Config) -> None:
        self.model = PracticeModel(config)
        self._open: dict[asyncio.Task[None], asyncio.WriteTransport] = {}
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Starts listening; port 0 picks a free one. Returns the address. Raises OSError if the port is in use."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self, loop), host, port, backlog=_BACKLOG)
        name = self._server.sockets[0].getsockname()
        return str(name[0]), int(name[1])

    async def stop(self) -> None:
        """Stops listening and ends every connection."""
        if self._server is not None:
            self._server.close()
        for transport in list(self._open.values()):
            transport.abort()
        await asyncio.gather(*self._open)

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gone: asyncio.Event) -> None:
        """Serves a connection's requests, one after another."""
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer.transport
        _without_delay(writer)
        try:
            await self._serve_all(reader, Exchange(writer, gone))
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            _log.debug("a client left: %s", error)
        finally:
            self._open.pop(task)
            writer.close()

    async def _serve_all(self, reader: asyncio.StreamReader, exchange: Exchange) -> None:
        while not exchange.closing and not exchange.gone:
            try:
                request = await read_request(reader)
            except (BadRequest, ValueError) as error:
                await exchange.send_json(400, error_body("invalid_request_error", "bad_request", str(error)), _CLOSING)
                return
            if request is None:
                return
            await self._handle(request, exchange)
            if not request.keep_alive:
                return

    async def _handle(self, request: Request, exchange: Exchange) -> None:
        try:
            await self.model.handle(request, exchange)
        except ConnectionError:
            raise
        except Exception:  # a bug here must look like a server error to the client, not like a lost connection
            _log.exception("%s %s failed", request.method, request.path)
            await exchange.send_json(
                500, error_body("server_error", "internal", "The practice model failed."), _CLOSING
            )
            exchange.close()


def _without_delay(writer: asyncio.StreamWriter) -> None:
    """Sends small writes without waiting for acknowledgements: a dripped byte is sent when it is written."""
    raw = writer.get_extra_info("socket")
    if raw is not None and raw.family in (socket.AF_INET, socket.AF_INET6):
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
