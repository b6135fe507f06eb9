"""Runs the practice model: in a thread for tests, or as a process of its own."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvloop

from worker.practice.config import Config
from worker.practice.server import Server

_START_S = 10.0
# The server is on this machine, so proxies from the environment are not used.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Control:
    """Controls a running practice model over HTTP: `Control("http://127.0.0.1:8100")`."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self.base_url = f"{self.url}/v1"

    def control(self, **changes: Any) -> dict[str, Any]:
        """Changes settings (see `Config`); `reset=True` also empties the ledger, counters and prompt cache."""
        return self._fetch("/control", changes)

    def ledger(self, request_id: str | None = None, after: int = 0) -> list[dict[str, Any]]:
        """Returns what was served, oldest first."""
        query = f"?after={after}" + (f"&request_id={request_id}" if request_id else "")
        entries: list[dict[str, Any]] = self._fetch(f"/ledger{query}")["entries"]
        return entries

    def stats(self) -> dict[str, Any]:
        return self._fetch("/stats")

    def _fetch(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"content-type": "application/json"})
        try:
            with _OPENER.open(request, timeout=30) as response:
                value: dict[str, Any] = json.load(response)
                return value
        except urllib.error.HTTPError as error:
            with error:
                raise ValueError(json.load(error)["error"]["message"]) from error


@contextmanager
def serve(config: Config | None = None, host: str = "127.0.0.1", port: int = 0) -> Iterator[Control]:
    """Runs a practice model in a background thread during the block. Raises OSError if the port is in use."""
    ready = threading.Event()
    state: dict[str, Any] = {}

    async def live() -> None:
        state["stop"], state["loop"] = asyncio.Event(), asyncio.get_running_loop()
        server = Server(config or Config())
        try:
            state["address"] = await server.start(host, port)
        except OSError as error:
            state["error"] = error
            return
        finally:
            ready.set()
        await state["stop"].wait()
        await server.stop()

    thread = threading.Thread(target=lambda: uvloop.run(live()), name="practice-model", daemon=True)
    thread.start()
    ready.wait(_START_S)
    if "error" in state:
        raise state["error"]
    try:
        yield Control(f"http://{state['address'][0]}:{state['address'][1]}")
    finally:
        state["loop"].call_soon_threadsafe(state["stop"].set)
        thread.join(_START_S)


def run_forever(config: Config, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serves until SIGTERM or KeyboardInterrupt; raises OSError if the port is in use.

    Calls `announce` with the address once it listens.
    """

    async def live() -> None:
        server = Server(config)
        bound_host, bound_port = await server.start(host, port)
        ended = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
        announce(f"http://{bound_host}:{bound_port}/v1")
        try:
            await ended.wait()
        finally:
            await server.stop()

    uvloop.run(live())
