"""Health checks: each returns a function that returns whether a service answers now."""

from __future__ import annotations

import http.client
from collections.abc import Callable

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from worker.local.ports import HOST

Health = Callable[[], bool]
TIMEOUT_S = 2.0


def answers_http(port: int, path: str) -> Health:
    """Returns a check that a GET of `path` answers with a 2xx status."""

    def check() -> bool:
        connection = http.client.HTTPConnection(HOST, port, timeout=TIMEOUT_S)
        try:
            connection.request("GET", path)
            return 200 <= connection.getresponse().status < 300
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    return check


def answers_redis(url: str) -> Health:
    def check() -> bool:
        options = {"socket_connect_timeout": TIMEOUT_S, "socket_timeout": TIMEOUT_S, "retry": Retry(NoBackoff(), 0)}
        with redis.Redis.from_url(url, **options) as client:
            try:
                return bool(client.ping())
            except redis.RedisError:
                return False

    return check
