"""The model client: a chat completion from any OpenAI-compatible endpoint, bounded in time, stoppable, not retried."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import httpx2
import openai

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
from worker.core.records import Adaptation, JsonObject, Reply, Usage
from worker.llm.adaptations import Refusal, adapt, change_for, users_own
from worker.llm.address import Address, as_written, parse_address
from worker.llm.bodies import read_body
from worker.llm.classify import FREE, from_status
from worker.llm.endpoint import EndpointSettings, ModelRequest
from worker.llm.errorbody import read_error
from worker.llm.guesses import Guesses
from worker.llm.keys import KeySource
from worker.llm.proxies import Proxy, Read, client_through, proxy_for
from worker.llm.reply import Completion, read_completion, unreadable_call
from worker.llm.request_body import encoded, request_body
from worker.llm.scrub import Scrubber, scrubber
from worker.llm.sockets import guard
from worker.llm.usage import find_usage
from worker.llm.watchdog import Abort, Call, watched

CONNECT_TIMEOUT_S = 10.0
WANTS_LOGIN = "it needs a login; add it to the proxy's variable: http://user:password@host:port"
# Shorter than the shortest time-out usual on servers (5 s), so that no request uses a connection about to be closed.
KEEP_ALIVE_S = 4.0


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The result of a call. `learned` is how its request had to be changed, beyond what was already known."""

    reply: Reply
    usage: Usage | None
    latency_s: float
    learned: tuple[Adaptation, ...] = ()

    @property
    def finish_reason(self) -> str | None:
        return self.reply.finish_reason


def new_http_client(max_connections: int, proxy: Proxy | None = None) -> httpx2.Client:
    """Returns a pool whose connections obey deadlines and aborts. Keeps `max_connections` alive; calls never queue.

    Raises `UserError` for a proxy that cannot be used.
    """
    limits = httpx2.Limits(
        max_connections=None, max_keepalive_connections=max_connections, keepalive_expiry=KEEP_ALIVE_S
    )
    return guard(client_through(proxy, limits=limits, timeout=httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S)))


class ModelClient:
    """Calls one endpoint; threads may share it.

    `api_key` may be a function, called before each request. Without a key, the login in `base_url` is sent; without a
    login, nothing, as local servers expect. Keys are removed from everything that is returned or raised.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | Callable[[], str | None] | None = None,
        max_connections: int = 100,
        *,
        proxy: Proxy | None = None,
        http: httpx2.Client | None = None,
    ) -> None:
        try:
            self._address: Address = parse_address(base_url)
        except ValueError as exc:
            raise UserError(str(exc), "Correct OPENAI_BASE_URL, or base_url in the agents file.") from exc
        self.base_url = self._address.url
        self._key = api_key if callable(api_key) else lambda: api_key
        self._proxy = proxy
        self._http = http or new_http_client(max_connections, proxy)
        self._guesses = Guesses()
        # The key goes into each request instead, so that a new key needs no new client.
        self._openai = openai.OpenAI(api_key="-", base_url=self.base_url, max_retries=0, http_client=self._http)

    def __repr__(self) -> str:
        return f"ModelClient({self.base_url!r})"

    def complete(
        self, request: ModelRequest, deadline_s: float, abort: Abort, known: Iterable[Adaptation] = ()
    ) -> ModelReply:
        """Returns one completion within `deadline_s` in total; raises a CallEnded that says whose fault it is.

        `known` is how requests for this endpoint and model have to be changed. Sends once; again only if the endpoint
        refused the request because of something that it can do without.
        """
        key = self._checked_key()
        secrets = self._secrets(key)
        hidden = scrubber(secrets)
        try:
            reply = self._complete(request, key, secrets, deadline_s, abort, tuple(known))
        except CallEnded as ended:
            ended.message = hidden.text(ended.message)
            ended.args = (ended.message,)
            raise
        return replace(reply, reply=_scrubbed(reply.reply, hidden))

    def _complete(
        self,
        request: ModelRequest,
        key: str | None,
        secrets: tuple[str, ...],
        deadline_s: float,
        abort: Abort,
        known: tuple[Adaptation, ...],
    ) -> ModelReply:
        started = time.monotonic()
        if abort.reason is not None:
            raise Stopped(abort.reason, usage=FREE)
        with watched(deadline_s, abort) as call:
            completion, learned = self._send_adapted(request, key, secrets, call, known)
        return ModelReply(completion.reply, completion.usage, time.monotonic() - started, learned)

    def _secrets(self, key: str | None) -> tuple[str, ...]:
        """Everything secret that is sent with a call and must not come back."""
        login_of_proxy = self._proxy.secrets if self._proxy else ()
        return tuple(filter(None, (key, *self._address.secrets, *login_of_proxy)))

    def close(self) -> None:
        """Closes the idle connections; calls must have ended."""
        self._http.close()

    def _send_adapted(
        self,
        request: ModelRequest,
        key: str | None,
        secrets: tuple[str, ...],
        call: Call,
        known: tuple[Adaptation, ...],
    ) -> tuple[Completion, tuple[Adaptation, ...]]:
        """Returns the reply and the new changes that it needed: only an answer proves a change right."""
        usual, headers = request_body(request, self.base_url), self._headers(request, key)
        applied: list[Adaptation] = []
        tried: list[Adaptation] = []
        stands: CallEnded | None = None
        while True:
            body = adapt(usual, (*known, *applied))
            response = self._send(body, headers, secrets, call)
            try:
                return self._read(response, secrets), tuple({one.feature: one for one in applied}.values())
            except CallEnded as ended:
                error = read_error(read_body(response.content), secrets)
                refusal = Refusal(body, request.users_fields, error, ended, tried)
                own = users_own(refusal)
                change = None if own else change_for(refusal) or self._guesses.next(refusal)
                if applied and applied[-1].guess:
                    applied.pop()  # the guess did not help, so the error from before it stands
                else:
                    stands = ended
                if change is None:
                    self._guesses.were_in_vain(refusal)
                    raise _with_remedy(stands or ended, own) from None
                applied.append(change)
                tried.append(change)

    def _read(self, response: httpx2.Response, secrets: tuple[str, ...]) -> Completion:
        """Returns the reply in a response; raises the error that it holds, whatever its status."""
        said = None if response.is_success else read_body(response.content)
        if response.is_success or unreadable_call(response.status_code, said) is not None:
            return read_completion(response.content, response.headers, secrets)
        raise self._refused(response, said, secrets)

    def _refused(self, response: httpx2.Response, said: object, secrets: tuple[str, ...]) -> CallEnded:
        """Returns the error of a response that is no success; names the proxy if the error is the proxy's own."""
        if self._proxy is not None and response.status_code == httpx2.codes.PROXY_AUTHENTICATION_REQUIRED:
            return AccessDenied(f"the proxy {self._proxy.name} refuses: {WANTS_LOGIN}", usage=FREE, status=407)
        usage = find_usage(said)
        ended = from_status(response.status_code, said, response.headers, secrets=secrets, usage=usage)
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
        """Returns the response, whatever its status. Raises outside `except`: a chained error would carry the key."""
        url = self._address.operation("chat/completions")
        try:
            return self._openai.post(url, cast_to=httpx2.Response, content=encoded(body), options={"headers": headers})
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
        return ConnectionLost(f"the connection to {where} broke before the reply was complete: {why}")

    @property
    def _through(self) -> str:
        return f" (through the proxy {self._proxy.name})" if self._proxy else ""

    def _checked_key(self) -> str | None:
        key = self._key()
        if key is not None and not (key.isascii() and key.isprintable()):
            raise WrongKey("the API key contains invalid characters; check the variable it comes from", usage=FREE)
        return key or None


class ModelClients:
    """The clients of a process: one connection pool per base URL, shared by all keys and models there.

    `read` returns environment variables (keys, proxies). `addresses` returns the base URLs as this machine's settings
    write them: only these may contain a login.
    """

    def __init__(self, read: Read, addresses: Callable[[], Iterable[str]] = tuple, max_connections: int = 100) -> None:
        self._max_connections = max_connections
        self._read = read
        self._keys = KeySource(read)
        self._addresses = addresses
        self._lock = threading.Lock()
        self._pools: dict[str, httpx2.Client] = {}
        self._clients: dict[tuple[str, str], ModelClient] = {}

    def client(self, endpoint: EndpointSettings) -> ModelClient:
        """Returns the client for this endpoint, with the key of its variable. AccessDenied if its proxy is unusable."""
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
        return ModelClient(written, key, proxy=proxy, http=pool)

    def close(self) -> None:
        """Closes every pool; calls must have ended."""
        with self._lock:
            for pool in self._pools.values():
                pool.close()
            self._pools.clear()
            self._clients.clear()


def _with_remedy(ended: CallEnded, setting: str | None) -> CallEnded:
    """Adds the remedy if the endpoint refuses a field that the user set: it is not removed automatically."""
    if setting is not None:
        ended.message += f"; the agent's settings put {setting} into the request: take it out or change it there"
    return ended


def _scrubbed(reply: Reply, hidden: Scrubber) -> Reply:
    """Removes the call's keys from everything in a reply that later code may keep, show or send back."""
    reason = None if reply.finish_reason is None else hidden.text(reply.finish_reason)
    return replace(reply, text=hidden.text(reply.text), finish_reason=reason, message=hidden.tree(reply.message))
