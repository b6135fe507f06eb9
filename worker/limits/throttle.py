"""Asks the fleet's limiter before a model call, where an endpoint has limits or has lately refused calls."""

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
"""Fewer than any usual text has, so that a reservation is never too small."""

WITHOUT_REDIS_S = 2.0

RECENT_S = 10.0
"""A refusal halves the rate of the last so many seconds."""


class Recent:
    """The calls of this process in the last seconds. Thread-safe."""

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
        """Over the time since the first of them, and over a second at least."""
        with self._lock:
            calls = [at_s for at_s in self._calls[endpoint_id] if at_s >= now_s - RECENT_S]
        return 60.0 * len(calls) / max(1.0, now_s - calls[0]) if calls else 0.0


class Throttle:
    """One a process. A call is granted now, or told when: nobody waits here."""

    def __init__(self, limiter: Limiter, pauses: EndpointPauses, store: Store) -> None:
        self._limiter = limiter
        self._pauses = pauses
        self._store = store
        self._recent = Recent()

    def ask(self, endpoint: EndpointSettings, place: str, prompt_bytes: int) -> Granted | RetryAt | None:
        """None: no limit is in force. `place` names the step, so that a step that asks again keeps its place."""
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
            log.warning("The limiter cannot be asked (%s): the call waits", type(error).__name__)
            return RetryAt(now + WITHOUT_REDIS_S)

    def settle(self, endpoint: EndpointSettings, granted: Granted | None, usage: Usage | None) -> None:
        """The call has ended; unknown usage leaves the reservation standing."""
        if granted is None:
            return
        used = None if usage is None else usage.prompt_tokens + usage.completion_tokens
        try:
            self._limiter.settle(endpoint.endpoint_id, granted, used)
        except RedisError as error:
            # The slot falls free by itself when its hold ends.
            log.warning("The limiter could not be told of an ended call: %s", type(error).__name__)

    def refused(self, endpoint: EndpointSettings) -> None:
        """A 429 that names no time: the fleet's rate is halved, and grows back."""
        mine = self._recent.per_min(endpoint.endpoint_id, time.monotonic())
        try:
            # That of the others is not known; workers share the load alike, more or less.
            adaptive = self._limiter.penalise(endpoint.endpoint_id, mine * max(1, thinkers(self._store)))
        except RedisError as error:
            log.warning("The limiter could not be told of a refusal: %s", type(error).__name__)
            return
        slow_down(self._store, endpoint.endpoint_id, endpoint.base_url, endpoint.model, adaptive.lasts_s)
        self._pauses.forget()
