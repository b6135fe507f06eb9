"""The model client: a chat completion from any OpenAI-compatible endpoint, bounded in time, stoppable, not retried."""

from __future__ import annotations

import functools
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import httpx2
import openai
import orjson

from worker.core.errors import CallEnded, ConnectionLost, ModelTimeout, Stopped, Unreachable, UserError, WrongKey
from worker.core.records import JsonObject, Reply, Usage
from worker.llm.classify import FREE, from_status
from worker.llm.endpoint import EndpointSettings, ModelRequest, check_base_url, without_password
from worker.llm.errorbody import scrub
from worker.llm.keys import KeySource
from worker.llm.quirks import OUTPUT_LIMITS, Quirks
from worker.llm.reply import read_completion
from worker.llm.sockets import guard
from worker.llm.watchdog import Abort, Call, watched

CONNECT_TIMEOUT_S = 10.0
# Shorter than the shortest usual on servers (5 s), so that a request never meets a connection about to be closed.
KEEP_ALIVE_S = 4.0


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What a call gave. `left_out` names the request fields that this endpoint refused during this very call."""

    reply: Reply
    usage: Usage | None
    latency_s: float
    left_out: tuple[str, ...] = ()

    @property
    def finish_reason(self) -> str | None:
        return self.reply.finish_reason


def new_http_client(max_connections: int) -> httpx2.Client:
    """A pool whose connections obey deadlines and aborts. It keeps `max_connections` alive and never makes one wait."""
    limits = httpx2.Limits(
        max_connections=None, max_keepalive_connections=max_connections, keepalive_expiry=KEEP_ALIVE_S
    )
    return guard(httpx2.Client(limits=limits, timeout=httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S)))


class ModelClient:
    """Calls one endpoint; any number of threads may share it.

    `api_key` may be a function, asked at each call. No key: no Authorization header, as local servers like it.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | Callable[[], str | None] | None = None,
        max_connections: int = 100,
        *,
        http: httpx2.Client | None = None,
        quirks: Quirks | None = None,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self._address = without_password(self.base_url)
        self._key = api_key if callable(api_key) else lambda: api_key
        self._quirks = quirks or Quirks()
        try:
            check_base_url(base_url)
        except ValueError as exc:
            raise UserError(str(exc), "Correct OPENAI_BASE_URL, or base_url in the agents file.") from exc
        self._http = http or new_http_client(max_connections)
        # The key goes into each request instead, so that a new one needs no new client.
        self._openai = openai.OpenAI(api_key="-", base_url=self.base_url, max_retries=0, http_client=self._http)

    def __repr__(self) -> str:
        return f"ModelClient({self._address!r})"

    def complete(self, request: ModelRequest, deadline_s: float, abort: Abort) -> ModelReply:
        """One completion within `deadline_s` in total, or a CallEnded that says whose fault it is.

        Sends once; again only where the endpoint refused the request for a field that it does not take.
        """
        started = time.monotonic()
        key = self._checked_key()
        if abort.reason is not None:
            raise Stopped(abort.reason, usage=FREE)
        with watched(deadline_s, abort) as call:
            response, left_out = self._send_adapted(request, key, call)
        completion = read_completion(response.content, response.headers)
        return ModelReply(completion.reply, completion.usage, time.monotonic() - started, left_out)

    def close(self) -> None:
        """Closes the idle connections; calls under way must have ended."""
        self._http.close()

    def _send_adapted(
        self, request: ModelRequest, key: str | None, call: Call
    ) -> tuple[httpx2.Response, tuple[str, ...]]:
        left_out: list[str] = []
        while True:
            body = self._quirks.apply(self.base_url, _body(request, self.base_url))
            response = self._send(body, _headers(request, key), call)
            if response.is_success:
                return response, tuple(left_out)
            error = _error_body(response)
            refused = self._quirks.learn(self.base_url, body, response.status_code, error)
            if refused is None:
                secrets = () if key is None else (key,)
                raise from_status(response.status_code, error, response.headers, secrets=secrets)
            left_out.append(refused)

    def _send(self, body: JsonObject, headers: dict[str, str | openai.Omit], call: Call) -> httpx2.Response:
        """The response whatever its status. Errors are raised outside `except`: a chained one would carry the key."""
        try:
            return self._openai.post(
                "/chat/completions", cast_to=httpx2.Response, content=_encoded(body), options={"headers": headers}
            )
        except openai.APIStatusError as exc:
            return exc.response
        except openai.APIConnectionError as exc:
            cause = exc.__cause__
        raise self._ended(cause, call)

    def _ended(self, cause: BaseException | None, call: Call) -> CallEnded:
        unsent = isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError)
        usage = FREE if unsent else None
        if call.abort.reason is not None:
            return Stopped(call.abort.reason, usage=usage)
        if call.expired:
            return ModelTimeout(f"{self._address} gave no whole reply within {call.limit_s:g} s", usage=usage)
        why = scrub(str(cause)) or type(cause).__name__
        if unsent:
            return Unreachable(f"cannot reach the model endpoint {self._address}: {why}", usage=FREE)
        return ConnectionLost(f"the connection to {self._address} broke before the reply was whole: {why}")

    def _checked_key(self) -> str | None:
        key = self._key()
        if key is not None and not (key.isascii() and key.isprintable()):
            raise WrongKey("the API key holds characters that no key has; check the variable it comes from", usage=FREE)
        return key or None


class ModelClients:
    """The clients of a process: one pool of connections for each base URL, shared by all keys and models there."""

    def __init__(self, max_connections: int = 100, keys: KeySource | None = None) -> None:
        self._max_connections = max_connections
        self._keys = keys or KeySource()
        self._quirks = Quirks()
        self._lock = threading.Lock()
        self._pools: dict[str, httpx2.Client] = {}
        self._clients: dict[tuple[str, str], ModelClient] = {}

    def client(self, endpoint: EndpointSettings) -> ModelClient:
        """The client that sends to this endpoint with the key of its variable."""
        place = (endpoint.base_url, endpoint.api_key_env)
        with self._lock:
            if place not in self._clients:
                pool = self._pools.get(endpoint.base_url) or new_http_client(self._max_connections)
                self._pools[endpoint.base_url] = pool
                read_key = functools.partial(self._keys.key, endpoint.api_key_env)
                self._clients[place] = ModelClient(endpoint.base_url, read_key, http=pool, quirks=self._quirks)
            return self._clients[place]

    def close(self) -> None:
        """Closes every pool; calls under way must have ended."""
        with self._lock:
            for pool in self._pools.values():
                pool.close()
            self._pools.clear()
            self._clients.clear()


def _body(request: ModelRequest, base_url: str) -> JsonObject:
    body: JsonObject = {"model": request.model, "messages": list(request.messages)}
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.stop:
        body["stop"] = list(request.stop)
    if request.max_output_tokens is not None:
        body[_limit_name(base_url)] = request.max_output_tokens
    if request.reasoning_effort is not None:
        body["reasoning_effort"] = request.reasoning_effort
    return {**body, **request.extra, **request.extra_body}


def _limit_name(base_url: str) -> str:
    """OpenAI itself takes the new name for every model; elsewhere the old one is understood by most."""
    old, new = OUTPUT_LIMITS
    return new if httpx2.URL(base_url).host == "api.openai.com" else old


def _headers(request: ModelRequest, key: str | None) -> dict[str, str | openai.Omit]:
    headers: dict[str, str | openai.Omit] = {"Authorization": f"Bearer {key}" if key else openai.Omit()}
    if request.request_id:
        headers["x-request-id"] = request.request_id
    return headers


def _encoded(body: JsonObject) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:  # half a surrogate pair, as cut observations may hold: it becomes a question mark
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _error_body(response: httpx2.Response) -> object:
    try:
        return orjson.loads(response.content)
    except orjson.JSONDecodeError:
        return response.text
