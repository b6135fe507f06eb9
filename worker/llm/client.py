"""The model client: a chat completion from any OpenAI-compatible endpoint, bounded in time, stoppable, not retried."""

from __future__ import annotations

import functools
import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import httpx2
import openai
import orjson

from worker.core.errors import (
    AccessDenied,
    CallEnded,
    ConnectionLost,
    ModelTimeout,
    Stopped,
    Unreachable,
    UserError,
    WrongKey,
)
from worker.core.records import JsonObject, Reply, Usage
from worker.llm.address import Address, as_written, parse_address
from worker.llm.classify import FREE, from_status
from worker.llm.endpoint import EndpointSettings, ModelRequest
from worker.llm.keys import KeySource
from worker.llm.proxies import Proxy, Read, client_through, proxy_for
from worker.llm.quirks import OUTPUT_LIMITS, Quirks
from worker.llm.reply import read_completion
from worker.llm.scrub import Scrubber, scrubber
from worker.llm.sockets import guard
from worker.llm.watchdog import Abort, Call, watched

CONNECT_TIMEOUT_S = 10.0
WANTS_LOGIN = "it wants a login: write it into the variable of the proxy, http://user:password@host:port"
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


def new_http_client(max_connections: int, proxy: Proxy | None = None) -> httpx2.Client:
    """A pool whose connections obey deadlines and aborts. It keeps `max_connections` alive and never makes one wait.

    Raises `UserError` for a proxy that cannot be used.
    """
    limits = httpx2.Limits(
        max_connections=None, max_keepalive_connections=max_connections, keepalive_expiry=KEEP_ALIVE_S
    )
    return guard(client_through(proxy, limits=limits, timeout=httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S)))


class ModelClient:
    """Calls one endpoint; any number of threads may share it.

    `api_key` may be a function, asked at each call. Where it gives none, the login in `base_url` is sent instead;
    where there is none either, nothing, as local servers like it. What leaves here, as reply or error, is scrubbed.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | Callable[[], str | None] | None = None,
        max_connections: int = 100,
        *,
        proxy: Proxy | None = None,
        http: httpx2.Client | None = None,
        quirks: Quirks | None = None,
    ) -> None:
        try:
            self._address: Address = parse_address(base_url)
        except ValueError as exc:
            raise UserError(str(exc), "Correct OPENAI_BASE_URL, or base_url in the agents file.") from exc
        self.base_url = self._address.url
        self._key = api_key if callable(api_key) else lambda: api_key
        self._quirks = quirks or Quirks()
        self._proxy = proxy
        self._http = http or new_http_client(max_connections, proxy)
        # The key goes into each request instead, so that a new one needs no new client.
        self._openai = openai.OpenAI(api_key="-", base_url=self.base_url, max_retries=0, http_client=self._http)

    def __repr__(self) -> str:
        return f"ModelClient({self.base_url!r})"

    def complete(self, request: ModelRequest, deadline_s: float, abort: Abort) -> ModelReply:
        """One completion within `deadline_s` in total, or a CallEnded that says whose fault it is.

        Sends once; again only where the endpoint refused the request for a field that it does not take.
        """
        key = self._checked_key()
        secrets = self._secrets(key)
        hidden = scrubber(secrets)
        try:
            reply = self._complete(request, key, secrets, deadline_s, abort)
        except CallEnded as ended:
            ended.message = hidden.text(ended.message)
            ended.args = (ended.message,)
            raise
        return replace(reply, reply=_scrubbed(reply.reply, hidden))

    def _complete(
        self, request: ModelRequest, key: str | None, secrets: tuple[str, ...], deadline_s: float, abort: Abort
    ) -> ModelReply:
        started = time.monotonic()
        if abort.reason is not None:
            raise Stopped(abort.reason, usage=FREE)
        with watched(deadline_s, abort) as call:
            response, left_out = self._send_adapted(request, key, secrets, call)
        completion = read_completion(response.content, response.headers, secrets)
        return ModelReply(completion.reply, completion.usage, time.monotonic() - started, left_out)

    def _secrets(self, key: str | None) -> tuple[str, ...]:
        """All that goes out with a call and must not come back."""
        login_of_proxy = self._proxy.secrets if self._proxy else ()
        return tuple(filter(None, (key, *self._address.secrets, *login_of_proxy)))

    def close(self) -> None:
        """Closes the idle connections; calls under way must have ended."""
        self._http.close()

    def _send_adapted(
        self, request: ModelRequest, key: str | None, secrets: tuple[str, ...], call: Call
    ) -> tuple[httpx2.Response, tuple[str, ...]]:
        left_out: list[str] = []
        while True:
            body = self._quirks.apply(self.base_url, _body(request, self.base_url))
            response = self._send(body, self._headers(request, key), secrets, call)
            if response.is_success:
                return response, tuple(left_out)
            error = _error_body(response)
            refused = self._quirks.learn(self.base_url, body, response.status_code, error)
            if refused is None:
                raise self._refused(response, error, secrets)
            left_out.append(refused)

    def _refused(self, response: httpx2.Response, error: object, secrets: tuple[str, ...]) -> CallEnded:
        """The error of a response; it may be the proxy's own, so that this is named too."""
        if self._proxy is not None and response.status_code == httpx2.codes.PROXY_AUTHENTICATION_REQUIRED:
            return AccessDenied(f"the proxy {self._proxy.name} refuses: {WANTS_LOGIN}", usage=FREE, status=407)
        ended = from_status(response.status_code, error, response.headers, secrets=secrets)
        ended.message += self._through
        return ended

    def _headers(self, request: ModelRequest, key: str | None) -> dict[str, str | openai.Omit]:
        authorization = f"Bearer {key}" if key else self._address.authorization
        headers: dict[str, str | openai.Omit] = {"Authorization": authorization or openai.Omit()}
        if request.request_id:
            headers["x-request-id"] = request.request_id
        return headers

    def _send(
        self, body: JsonObject, headers: dict[str, str | openai.Omit], secrets: tuple[str, ...], call: Call
    ) -> httpx2.Response:
        """The response whatever its status. Errors are raised outside `except`: a chained one would carry the key."""
        url = self._address.operation("chat/completions")
        try:
            return self._openai.post(url, cast_to=httpx2.Response, content=_encoded(body), options={"headers": headers})
        except openai.APIStatusError as exc:
            return exc.response
        except openai.APIConnectionError as exc:
            cause = exc.__cause__
        raise self._ended(cause, secrets, call)

    def _ended(self, cause: BaseException | None, secrets: tuple[str, ...], call: Call) -> CallEnded:
        unsent = isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError)
        usage = FREE if unsent else None
        where = self.base_url + self._through
        if call.abort.reason is not None:
            return Stopped(call.abort.reason, usage=usage)
        if call.expired:
            return ModelTimeout(f"{where} gave no whole reply within {call.limit_s:g} s", usage=usage)
        why = scrubber(secrets).error(str(cause)) or type(cause).__name__
        if unsent:
            why = f"{why}; {WANTS_LOGIN}" if why.startswith("407") else why
            return Unreachable(f"cannot reach the model endpoint {where}: {why}", usage=FREE)
        return ConnectionLost(f"the connection to {where} broke before the reply was whole: {why}")

    @property
    def _through(self) -> str:
        return f" (through the proxy {self._proxy.name})" if self._proxy else ""

    def _checked_key(self) -> str | None:
        key = self._key()
        if key is not None and not (key.isascii() and key.isprintable()):
            raise WrongKey("the API key holds characters that no key has; check the variable it comes from", usage=FREE)
        return key or None


class ModelClients:
    """The clients of a process: one pool of connections for each base URL, shared by all keys and models there.

    `read` gives the variables: keys, and proxies. `addresses` are the base URLs as this machine's settings write them,
    from where a login that no configuration may hold is taken.
    """

    def __init__(self, read: Read, addresses: Callable[[], Iterable[str]] = tuple, max_connections: int = 100) -> None:
        self._max_connections = max_connections
        self._read = read
        self._keys = KeySource(read)
        self._addresses = addresses
        self._quirks = Quirks()
        self._lock = threading.Lock()
        self._pools: dict[str, httpx2.Client] = {}
        self._clients: dict[tuple[str, str], ModelClient] = {}

    def client(self, endpoint: EndpointSettings) -> ModelClient:
        """The client that sends to this endpoint with the key of its variable. AccessDenied: its proxy is no good."""
        place = (endpoint.base_url, endpoint.api_key_env)
        with self._lock:
            if place not in self._clients:
                self._clients[place] = self._new(endpoint)
            return self._clients[place]

    def _new(self, endpoint: EndpointSettings) -> ModelClient:
        proxy = proxy_for(endpoint.base_url, self._read)
        try:
            pool = self._pools.get(endpoint.base_url) or new_http_client(self._max_connections, proxy)
        except UserError as error:
            raise AccessDenied(f"{error.message} {error.hint}", usage=FREE) from error
        self._pools[endpoint.base_url] = pool
        key = functools.partial(self._keys.key, endpoint.api_key_env)
        written = as_written(endpoint.base_url, self._addresses())
        return ModelClient(written, key, proxy=proxy, http=pool, quirks=self._quirks)

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


def _scrubbed(reply: Reply, hidden: Scrubber) -> Reply:
    """Everything that a reply holds and later code may keep, show or send back, without the keys of its call."""
    reason = None if reply.finish_reason is None else hidden.text(reply.finish_reason)
    return replace(reply, text=hidden.text(reply.text), finish_reason=reason, message=hidden.tree(reply.message))


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
