"""What a tool's calls share across the fleet: a limit on concurrent calls, and cached observations."""

from __future__ import annotations

import hashlib
import logging
import time
from typing import Any

import orjson
from redis import Redis
from redis.exceptions import RedisError

from tools.base import Tool
from worker.core.config import EndpointLimits
from worker.limits.limiter import Granted, Limiter, RetryAt

log = logging.getLogger(__name__)

PREFIX = "stepmill:cache"
WITHOUT_REDIS_S = 2.0


class ToolLimits:
    """One per process. Does nothing for tools that set neither `concurrency` nor `cache_s`."""

    def __init__(self, limiter: Limiter, redis: Redis) -> None:
        self._limiter = limiter
        self._redis = redis

    def slot(self, tool: Tool, place: str) -> Granted | RetryAt | None:
        """Asks for a slot. None: the tool has no limit. `place` names the call, so that it keeps its place in line."""
        if tool.concurrency is None:
            return None
        now, limits = time.monotonic(), EndpointLimits(concurrent=tool.concurrency)
        try:
            return self._limiter.acquire(_key(tool), limits, 0, place, now, hold_s=tool.timeout_s + 30.0)
        except RedisError as error:
            log.warning("The limit of %s cannot be checked (%s): its call waits", tool.name, type(error).__name__)
            return RetryAt(now + WITHOUT_REDIS_S)

    def free(self, tool: Tool, slot: Granted | None) -> None:
        """Frees the slot of an ended call. If Redis is unreachable, the slot expires by itself."""
        if slot is None:
            return
        try:
            self._limiter.settle(_key(tool), slot, 0)
        except RedisError as error:
            log.warning("Could not free a slot of %s, which expires later: %s", tool.name, type(error).__name__)

    def known(self, tool: Tool, args: dict[str, Any]) -> str | None:
        """Returns the observation of an equal call from the last `cache_s` seconds, or None."""
        if tool.cache_s is None:
            return None
        try:
            found = self._redis.get(_cache_key(tool, args))
        except RedisError as error:
            log.warning("The cache of %s cannot be read: %s", tool.name, type(error).__name__)
            return None
        return found.decode() if isinstance(found, bytes) else None

    def keep(self, tool: Tool, args: dict[str, Any], observation: str) -> None:
        """Caches the observation of a successful call for `cache_s` seconds."""
        if tool.cache_s is None:
            return
        try:
            self._redis.set(_cache_key(tool, args), observation.encode(), px=int(tool.cache_s * 1000))
        except RedisError as error:
            log.warning("The cache of %s cannot be written: %s", tool.name, type(error).__name__)


def _key(tool: Tool) -> str:
    return f"tool:{tool.name}"


def _cache_key(tool: Tool, args: dict[str, Any]) -> str:
    plain = orjson.dumps([tool.name, args], option=orjson.OPT_SORT_KEYS)
    return f"{PREFIX}:{tool.name}:{hashlib.sha256(plain).hexdigest()}"
