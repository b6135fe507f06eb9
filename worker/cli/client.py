"""The API client of the command line: JSON calls, streamed uploads and downloads, events."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx2

from tools.environment import variable
from worker.cli.errors import EXIT_UNREACHABLE, EXIT_WRONG_USE
from worker.cli.events import Event, lines, read_events
from worker.core.errors import UserError
from worker.core.records import JsonObject
from worker.llm.address import without_password
from worker.llm.proxies import client_through, proxy_for

TIMEOUT = httpx2.Timeout(60.0, connect=5.0)
UPLOAD_TIMEOUT = httpx2.Timeout(600.0, connect=5.0)
"""Long, because the answer to a large upload comes only when all of it is stored."""
RECONNECTS = 6
FIRST_PAUSE_S = 0.2
"""Doubles with each failure, so that an API that restarts is back before the last attempt."""


class Client:
    """Raises `UserError` if the API refuses a call (exit code 2) or cannot be reached (3)."""

    def __init__(
        self,
        url: str,
        key: str = "",
        transport: httpx2.BaseTransport | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = without_password(url.rstrip("/"))
        self._pause = pause
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._proxy = None if transport else proxy_for(self.url, variable)
        # A login in the URL is used only without a key: httpx2 would send it instead of the key.
        with self._errors():
            self._http = client_through(
                self._proxy, transport=transport, base_url=self.url if key else url, headers=headers, timeout=TIMEOUT
            )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str, **params: Any) -> JsonObject:
        return self._json("GET", path, params=_given(params))

    def post(self, path: str, body: JsonObject | None = None, **params: Any) -> JsonObject:
        return self._json("POST", path, json=body, params=_given(params))

    def upload(self, path: str, chunks: Iterable[bytes], content_type: str, params: Mapping[str, Any]) -> JsonObject:
        """Sends a body piece by piece, without holding all of it in memory."""
        options = {"content": chunks, "headers": {"Content-Type": content_type}, "timeout": UPLOAD_TIMEOUT}
        return self._json("POST", path, params=_given(params), **options)

    @contextmanager
    def download(self, path: str, **params: Any) -> Iterator[Iterator[bytes]]:
        """Yields the pieces of an answer as they arrive."""
        with self._errors(), self._http.stream("GET", path, params=_given(params)) as response:
            if response.status_code >= 400:
                response.read()
            _check(response)
            yield self._pieces(response)

    def _pieces(self, response: httpx2.Response) -> Iterator[bytes]:
        try:
            yield from response.iter_bytes()
        except httpx2.TransportError as error:
            message = f"The answer of the API at {self.url} broke off: {str(error) or type(error).__name__}."
            raise UserError(message, "What came is not all of it; run the command again.", EXIT_UNREACHABLE) from error

    def pages(self, path: str, limit: int | None = None, **params: Any) -> Iterator[JsonObject]:
        """Yields up to `limit` items of a list, page by page."""
        left = limit
        cursor = None
        while left is None or left > 0:
            page = self.get(path, cursor=cursor, limit=min(left or 1000, 1000), **params)
            yield from page["items"]
            left = None if left is None else left - len(page["items"])
            cursor = page.get("next")
            if not cursor:
                return

    def events(self, run_id: str) -> Iterator[Event]:
        """Yields a run's events until its end. Reconnects after a broken connection and continues where it broke."""
        return self._followed(f"/api/runs/{run_id}/events")

    def batch_events(self, batch_id: str) -> Iterator[Event]:
        """Yields a batch's progress events until its end, and `IDLE` now and then while nothing changes."""
        return self._followed(f"/api/batches/{batch_id}/events", runs="false")

    def _followed(self, path: str, **params: str) -> Iterator[Event]:
        last, failures = None, 0
        while True:
            try:
                for event in self._events(path, params, last):
                    if event.kind == "error":  # the API could not continue: treat it like a broken connection
                        raise httpx2.ReadError(str(event.data.get("message")))
                    last, failures = event.number or last, 0
                    yield event
                    if event.kind == "end":
                        return
                return
            except httpx2.TransportError as error:
                failures += 1
                if failures > RECONNECTS:
                    raise self._away(error) from error
                self._pause(FIRST_PAUSE_S * 2**failures)

    def _events(self, path: str, params: Mapping[str, str], last: str | None) -> Iterator[Event]:
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
        with self._http.stream("GET", path, params=params, headers=headers) as response:
            if response.status_code >= 400:
                response.read()
            _check(response)
            yield from read_events(lines(response.iter_bytes()))

    def _json(self, method: str, path: str, **options: Any) -> JsonObject:
        with self._errors():
            response = self._http.request(method, path, **options)
            _check(response)
            body: JsonObject = response.json()
            return body

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except httpx2.InvalidURL as error:
            raise UserError(f"STEPMILL_API_URL is {self.url!r}, which is no address: {error}.") from error
        except httpx2.TransportError as error:
            raise self._away(error) from error
        except json.JSONDecodeError as error:
            message = f"What answers at {self.url} is not the stepmill API."
            raise UserError(message, "Check STEPMILL_API_URL.", EXIT_UNREACHABLE) from error

    def _away(self, error: Exception) -> UserError:
        said = str(error) or type(error).__name__
        hint = "Start the stack with `stepmill up`, or check STEPMILL_API_URL."
        if self._proxy:
            said = f"{said} (through the proxy {self._proxy.name})"
            hint = "Check STEPMILL_API_URL and the proxy; NO_PROXY names hosts that are reached without it."
        return UserError(f"The API at {self.url} cannot be reached: {said}.", hint, EXIT_UNREACHABLE)


def _given(params: Mapping[str, Any]) -> dict[str, Any]:
    chosen = {name: value for name, value in params.items() if value is not None and value is not False and value != ""}
    return {name: "true" if value is True else value for name, value in chosen.items()}


def _check(response: httpx2.Response) -> None:
    """Raises the API's error as `UserError` if it refused the call."""
    if response.status_code < 400:
        return
    code = EXIT_UNREACHABLE if response.status_code == 503 else EXIT_WRONG_USE
    try:
        told = response.json()["error"]
        line = f"Line {told['line']}: " if told.get("line") and "line" not in told["message"].lower() else ""
        raise UserError(line + told["message"], told.get("hint") or _hint(response.status_code), code)
    except (ValueError, KeyError, TypeError):
        message = f"{without_password(str(response.request.url))} answered {response.status_code}."
        raise UserError(message, "Is STEPMILL_API_URL the stepmill API?", EXIT_UNREACHABLE) from None


def _hint(status: int) -> str:
    return "Set STEPMILL_API_KEY to a key that the API knows." if status == 401 else ""
