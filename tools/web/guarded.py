"""Connects only as the guard permits: resolves a name once, checks every address, then the peer."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterable
from typing import Any

import httpcore2

from tools.kit.errors import ToolError
from tools.web.addresses import Guard


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Connects by address, never by name, so that a second lookup cannot give another result."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connects to the first address that answers. Raises ToolError if one of them is refused."""
        addresses = await _resolve(host, port)
        refused = [address for address in addresses if not self._guard.permits(host, port, address)]
        if refused:
            raise ToolError(
                f"{host} leads to {refused[0]}, an address inside a private network, which tools may not reach. "
                "Use a public address."
            )
        failure: Exception = httpcore2.ConnectError(f"{host} has no address")
        for address in addresses:
            try:
                stream = await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
                continue
            await self._check_peer(stream, host, port)
            return stream
        raise failure

    async def _check_peer(self, stream: httpcore2.AsyncNetworkStream, host: str, port: int) -> None:
        peer = stream.get_extra_info("server_addr")
        if not peer or not self._guard.permits(host, port, str(peer[0])):
            await stream.aclose()
            raise ToolError(f"{host} was connected to an address that tools may not reach.")
        own = stream.get_extra_info("client_addr")
        if own and own[0] == peer[0] and not self._guard.names(host, port, str(peer[0])):
            # A connection from an address to itself never leaves the machine, however public the address is.
            await stream.aclose()
            raise ToolError(f"{host} is this machine itself, which tools may not reach. Use a public address.")

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore2.AsyncNetworkStream:
        """Refuses: Unix sockets are never allowed."""
        raise ToolError("Sockets of this machine cannot be reached.")

    async def sleep(self, seconds: float) -> None:
        """Waits between retries; unused, since there are none."""
        await asyncio.sleep(seconds)


async def _resolve(host: str, port: int) -> list[str]:
    """Resolves in a thread that is not waited for: a name server that hangs must not hold up a cancelled call."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[Any]] = loop.create_future()

    def look_up() -> None:
        try:
            answer: list[Any] | Exception = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            answer = error
        with contextlib.suppress(RuntimeError):  # the loop is gone, and with it the caller
            loop.call_soon_threadsafe(_settle, found, answer)

    threading.Thread(target=look_up, name=f"resolve-{host}", daemon=True).start()
    try:
        return list(dict.fromkeys(str(entry[4][0]) for entry in await found))
    except (OSError, UnicodeError) as error:
        raise ToolError(f"The host {host} is not known. Check the address.") from error


def _settle(found: asyncio.Future[list[Any]], answer: list[Any] | Exception) -> None:
    if found.done():
        return
    if isinstance(answer, Exception):
        found.set_exception(answer)
    else:
        found.set_result(answer)
