"""What a request must show before anything is done for it: the key if there is one, else a name of this machine."""

from __future__ import annotations

import hmac
import logging
import time

import anyio
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.binding import LOOPBACK_NAMES, host_name, is_loopback, same_origin
from api.problems import LargeBody, SlowBody, refusal
from worker.core.given import shown

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 1_000_000
"""For every request but the hand-in of questions, which have limits of their own."""

JSON = "application/json"

PAUSE_S = 10.0
"""A body of which nothing comes for so long is given up."""
GRACE_S = 30.0
LEAST_BYTES_PER_S = 1_000
"""After so much waiting a body must have come at this rate, all in all."""

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""They answer to every name, since who looks after a machine calls them by its address."""
SCHEMA_PATHS = frozenset({"/openapi.json", "/docs"})
"""With what is below `/docs` open without the key: the same everywhere, and a page in a browser cannot send one."""


class Guard:
    """With a key set, every call but the health checks must carry it.

    Without one the API listens on loopback only, and a page in a browser must not reach it under a name of its own
    (DNS rebinding) or by a cross-site request: the Host header must name this machine, and an Origin must be the very
    one under which the API is called, port included.
    """

    def __init__(self, app: ASGIApp, admin_key: str) -> None:
        self._app = app
        self._key = admin_key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        refused = self._refused(request) or _unfit(request)
        if refused is not None:
            await refusal(*refused)(scope, receive, send)
            return
        patient = Patient(receive)
        try:
            await self._app(scope, patient if _streams(request) else _bounded(patient), send)
        except ClientDisconnect:
            log.debug("The client of %s %s went away", request.method, request.url.path)

    def _refused(self, request: Request) -> tuple[int, str, str, str] | None:
        if request.url.path in OPEN_PATHS:
            return None
        if self._key:
            if request.url.path in SCHEMA_PATHS or request.url.path.startswith("/docs/"):
                return None
            return None if self._has_key(request.headers) else _UNAUTHORIZED
        name = host_name(request.headers.get("host", ""))
        if name not in LOOPBACK_NAMES and not is_loopback(name):
            return (403, "forbidden_host", f"The API does not answer to the name {name!r}.", _HOST_HINT)
        origin = request.headers.get("origin")
        if origin and not same_origin(origin, request.url.scheme, request.headers.get("host", "")):
            return (403, "forbidden_host", f"Pages of {origin!r} may not call the API.", _HOST_HINT)
        return None

    def _has_key(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._key)


class Patient:
    """Receives a body that must come: no pause beyond `PAUSE_S`, and after `GRACE_S` no slower than a least rate.

    Only the time that was spent on waiting for the client counts. Raises `SlowBody`.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._waited_s, self._received, self._whole = 0.0, 0, False

    async def __call__(self) -> Message:
        if self._whole:
            return await self._receive()
        began = time.monotonic()
        try:
            with anyio.fail_after(PAUSE_S):
                message = await self._receive()
        except TimeoutError:
            raise SlowBody(f"Nothing of the body has come for {PAUSE_S:g} s") from None
        self._waited_s += time.monotonic() - began
        self._received += len(message.get("body", b""))
        self._whole = message["type"] != "http.request" or not message.get("more_body", False)
        if not self._whole and self._waited_s > GRACE_S and self._received < LEAST_BYTES_PER_S * self._waited_s:
            raise SlowBody(f"The body comes with less than {LEAST_BYTES_PER_S:,} bytes a second")
        return message


def _streams(request: Request) -> bool:
    """Whether the endpoint reads the body piece by piece and counts for itself."""
    return request.method == "POST" and request.url.path in ("/api/batches", "/api/runs")


def _unfit(request: Request) -> tuple[int, str, str, str] | None:
    """What no endpoint can do anything with."""
    if "\0" in request.url.path or "%00" in request.scope["query_string"].decode("latin-1"):
        return (422, "bad_request", "The address contains a NUL character.", "Leave it out.")
    length = request.headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        return (400, "bad_request", f"The Content-Length is {shown(length)}, which is no number.", "")
    if _streams(request):
        return None
    if len(length) > 15 or int(length) > MAX_BODY_BYTES:
        return (413, "too_large", f"The body is larger than {MAX_BODY_BYTES:,} bytes.", "Send less.")
    has_body = int(length) > 0 or "transfer-encoding" in request.headers
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method == "POST" and has_body and kind != JSON:
        return (415, "unsupported_type", f"A body of the type {shown(kind)} is not understood here.", f"Send {JSON}.")
    return None


def _bounded(receive: Receive) -> Receive:
    """A body without a stated length is cut off at the bound, so that nobody fills the memory."""
    left = MAX_BODY_BYTES

    async def counted() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise LargeBody(MAX_BODY_BYTES)
        return message

    return counted


_UNAUTHORIZED = (
    401,
    "unauthorized",
    "The API needs its key, and the request has none or a wrong one.",
    "Set STEPMILL_API_KEY to the value of STEPMILL_ADMIN_KEY, or send `Authorization: Bearer KEY`.",
)
_HOST_HINT = "Call it as 127.0.0.1 or localhost; set STEPMILL_ADMIN_KEY to open it to others."
