"""Asks the fleet's limiter before a model call if the endpoint has limits or has recently refused calls."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict, deque

from redis.exceptions import RedisError

from worker.core.records import Usage
from worker.limits.endpoint_pauses import EndpointPauses
from worker.limits.limiter import Granted, Limiter, RetryAt
from worker.llm.endpoint import EndpointSettings
from worker.store.control.endpoints import slow_down
from worker.store.recovery.liveness import thinkers
from worker.store.session import Store

log = logging.getLogger(__name__)

BYTES_A_TOKEN = 2
"""Fewer than usual text has, so that a reservation is not too small."""

WITHOUT_REDIS_S = 2.0

RECENT_S = 10.0
"""A refusal halves the rate measured over this many seconds."""


class Recent:
    """The calls of this process in the last `RECENT_S` seconds. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[str, deque[float]] = defaultdict(deque)

    def note(self, endpoint_id: str, now_s: float) -> None:
        with self._lock:
            calls = self._calls[endpoint_id]
            calls.append(now_s)
            while calls[0] < now_s - RECENT_S:
                calls.popleft()

    def per_min(self, endpoint_id: str, now_s: float) -> float:
        """Returns the rate since the first of these calls, over one second or more."""
        with self._lock:
            calls = [at_s for at_s in self._calls[endpoint_id] if at_s >= now_s - RECENT_S]
        return 60.0 * len(calls) / max(1.0, now_s - calls[0]) if calls else 0.0


class Throttle:
    """One per process. Grants a call now or returns when to ask again; never blocks."""

    def __init__(self, limiter: Limiter, pauses: EndpointPauses, store: Store) -> None:
        self._limiter = limiter
        self._pauses = pauses
        self._store = store
        self._recent = Recent()

    def ask(self, endpoint: EndpointSettings, place: str, prompt_bytes: int) -> Granted | RetryAt | None:
        """Asks for a slot. None: no limit is in force. `place` names the step, so that it keeps its place in line."""
        now = time.monotonic()
        if not endpoint.limits and not self._pauses.slowed(endpoint.endpoint_id):
            self._recent.note(endpoint.endpoint_id, now)
            return None
        tokens = prompt_bytes // BYTES_A_TOKEN + endpoint.max_output_tokens
        try:
            answer = self._limiter.acquire(
                endpoint.endpoint_id, endpoint.limits, tokens, place, now, hold_s=endpoint.call_time_limit_s + 30.0
            )
            if isinstance(answer, Granted):
                self._recent.note(endpoint.endpoint_id, now)
            return answer
        except RedisError as error:
            log.warning("The limiter cannot be reached (%s): the call waits", type(error).__name__)
            return RetryAt(now + WITHOUT_REDIS_S)

    def settle(self, endpoint: EndpointSettings, granted: Granted | None, usage: Usage | None) -> None:
        """Frees the slot of an ended call; unknown usage keeps the reserved tokens counted."""
        if granted is None:
            return
        used = None if usage is None else usage.prompt_tokens + usage.completion_tokens
        try:
            self._limiter.settle(endpoint.endpoint_id, granted, used)
        except RedisError as error:
            # The slot is freed when its hold expires.
            log.warning("Could not report an ended call to the limiter: %s", type(error).__name__)

    def refused(self, endpoint: EndpointSettings) -> None:
        """Handles a 429 without a retry time: the fleet's rate is halved and grows back."""
        mine = self._recent.per_min(endpoint.endpoint_id, time.monotonic())
        try:
            # The rate of other workers is unknown; they share the load roughly equally.
            adaptive = self._limiter.penalise(endpoint.endpoint_id, mine * max(1, thinkers(self._store)))
        except RedisError as error:
            log.warning("Could not report a refusal to the limiter: %s", type(error).__name__)
            return
        slow_down(self._store, endpoint.endpoint_id, endpoint.base_url, endpoint.model, adaptive.lasts_s)
        self._pauses.forget()
