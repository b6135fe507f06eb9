"""Checks a request before anything else: the key if one is set, otherwise a host name of this machine."""

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
"""Limit for every request but the submission of questions, which has limits of its own."""

JSON = "application/json"

PAUSE_S = 10.0
"""A request body that sends nothing for this long is aborted."""
GRACE_S = 30.0
LEAST_BYTES_PER_S = 1_000
"""After `GRACE_S` of waiting, a body must have averaged at least this rate."""

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""These accept every host name, because health checks often call a machine by its address."""
SCHEMA_PATHS = frozenset({"/openapi.json", "/docs"})
"""Open without the key, as is everything below `/docs`: they reveal nothing, and a browser page cannot send a key."""


class Guard:
    """If a key is set, every call but the health checks and the schema must carry it.

    Without a key the API listens on loopback only, and a web page must not reach it through its own host name (DNS
    rebinding) or by a cross-site request: the Host header must name this machine, and an Origin must be exactly the
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
            log.debug("The client of %s %s disconnected", request.method, request.url.path)

    def _refused(self, request: Request) -> tuple[int, str, str, str] | None:
        if request.url.path in OPEN_PATHS:
            return None
        if self._key:
            if request.url.path in SCHEMA_PATHS or request.url.path.startswith("/docs/"):
                return None
            return None if self._has_key(request.headers) else _UNAUTHORIZED
        name = host_name(request.headers.get("host", ""))
        if name not in LOOPBACK_NAMES and not is_loopback(name):
            return (403, "forbidden_host", f"The API does not accept the host name {name!r}.", _HOST_HINT)
        origin = request.headers.get("origin")
        if origin and not same_origin(origin, request.url.scheme, request.headers.get("host", "")):
            return (403, "forbidden_host", f"Pages of {origin!r} may not call the API.", _HOST_HINT)
        return None

    def _has_key(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._key)


class Patient:
    """Receives a body. Raises `SlowBody` after a pause of `PAUSE_S`, or if it is too slow after `GRACE_S`.

    Only time spent waiting for the client counts.
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
            raise SlowBody(f"No part of the body has arrived for {PAUSE_S:g} s") from None
        self._waited_s += time.monotonic() - began
        self._received += len(message.get("body", b""))
        self._whole = message["type"] != "http.request" or not message.get("more_body", False)
        if not self._whole and self._waited_s > GRACE_S and self._received < LEAST_BYTES_PER_S * self._waited_s:
            raise SlowBody(f"The body arrives at less than {LEAST_BYTES_PER_S:,} bytes a second")
        return message


def _streams(request: Request) -> bool:
    """Returns whether the endpoint reads the body as a stream and enforces its own limit."""
    return request.method == "POST" and request.url.path in ("/api/batches", "/api/runs")


def _unfit(request: Request) -> tuple[int, str, str, str] | None:
    """Returns the refusal of a request that no endpoint can handle, or None."""
    if "\0" in request.url.path or "%00" in request.scope["query_string"].decode("latin-1"):
        return (422, "bad_request", "The address contains a NUL character.", "Leave it out.")
    length = request.headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        return (400, "bad_request", f"The Content-Length is {shown(length)}, which is not a number.", "")
    if _streams(request):
        return None
    if len(length) > 15 or int(length) > MAX_BODY_BYTES:
        return (413, "too_large", f"The body is larger than {MAX_BODY_BYTES:,} bytes.", "Send less.")
    has_body = int(length) > 0 or "transfer-encoding" in request.headers
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method == "POST" and has_body and kind != JSON:
        return (415, "unsupported_type", f"The content type {shown(kind)} is not supported here.", f"Send {JSON}.")
    return None


def _bounded(receive: Receive) -> Receive:
    """Cuts off a body without a stated length at the limit, so that no client can exhaust memory."""
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
    "The API needs its key, and the request has no key or a wrong one.",
    "Set STEPMILL_API_KEY to the value of STEPMILL_ADMIN_KEY, or send `Authorization: Bearer KEY`.",
)
_HOST_HINT = "Call it as 127.0.0.1 or localhost; set STEPMILL_ADMIN_KEY to open it to others."
