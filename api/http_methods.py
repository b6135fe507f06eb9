"""HEAD, OPTIONS and `Allow`, handled the same way for every path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from re import Pattern

import anyio
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

Ways = Sequence[tuple[Pattern[str], frozenset[str]]]


def ways(routes: Iterable[BaseRoute]) -> Ways:
    """Returns the paths of these routes, and the methods that each accepts."""
    return [(route.path_regex, frozenset(route.methods or ())) for route in routes if isinstance(route, Route)]


class Verbs:
    """Answers OPTIONS, runs HEAD as a GET without its body, and puts the allowed methods into `scope`."""

    def __init__(self, app: ASGIApp, known: Ways) -> None:
        self._app = app
        self._known = known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        methods = self._methods(scope["path"])
        scope["allow"] = ", ".join(sorted(methods))
        if scope["method"] == "OPTIONS" and methods:
            headers = [(b"allow", scope["allow"].encode())]
            await send({"type": "http.response.start", "status": 204, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
        elif scope["method"] == "HEAD" and "GET" in methods:
            await _head(self._app, {**scope, "method": "GET"}, receive, send)
        else:
            await self._app(scope, receive, send)

    def _methods(self, path: str) -> set[str]:
        found = {method for regex, methods in self._known if regex.match(path) for method in methods}
        if "GET" in found:
            found |= {"HEAD"}
        return found | {"OPTIONS"} if found else found


async def _head(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Sends only the start of the answer. The body, which may be endless, is never produced."""
    with anyio.CancelScope() as rest:

        async def start_only(message: Message) -> None:
            if message["type"] != "http.response.start":
                return
            with anyio.CancelScope(shield=True):
                await send(message)
                await send({"type": "http.response.body", "body": b""})
            rest.cancel()

        await app(scope, receive, start_only)
