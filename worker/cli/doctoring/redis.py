"""Checks Redis: reachable, new enough, an eviction policy that keeps messages, and protected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from redis import Redis
from redis.exceptions import AuthenticationError, RedisError

from worker.cli.checks import OLDEST_REDIS, redis_client
from worker.cli.doctoring.finding import Finding, Level, Patient, fault
from worker.cli.errors import one_line
from worker.core.errors import UserError
from worker.llm.address import without_password

LOOPBACK = {"127.0.0.1", "localhost", "::1", None}


def redis(patient: Patient) -> Iterator[Finding]:
    """Checks the server that STEPMILL_REDIS_URL names, or that the stack runs."""
    if not patient.settings.redis_url and patient.stack is None:
        yield Finding("redis", "`stepmill up` will start a private one")
        return
    url = patient.settings.redis
    try:
        with redis_client(url) as client:
            info: dict[str, Any] = client.info()
            patient.usable.add("redis")
            yield from server(url, info)
            yield from _policy(client, info)
    except UserError as error:
        yield fault("redis", "redis_url", error.message, error.hint)
    except AuthenticationError:
        remedy = "Put the password into STEPMILL_REDIS_URL: redis://:password@host:6379/0"
        yield fault("redis", "redis_password", "Redis refuses the password, or wants one.", remedy)
    except RedisError as error:
        message = f"Redis at {without_password(url)} cannot be reached: {one_line(error).rstrip('.')}."
        remedy = "Start it, or correct STEPMILL_REDIS_URL."
        yield fault("redis", "redis_away", message, remedy, Level.UNREACHABLE)


def server(url: str, info: dict[str, Any]) -> Iterator[Finding]:
    """Checks the server's own information: its version, and whether it needs a password."""
    version = str(info["redis_version"])
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_REDIS:
        yield fault("redis", "redis_version", f"Redis is {version}; 6.2 or newer is needed.", "Upgrade it.")
    else:
        yield Finding("redis", f"{without_password(url)} answers, version {version}")
    parts = urlsplit(url)
    if parts.hostname not in LOOPBACK and not parts.password:
        message = f"Redis at {parts.hostname} is reached over the network without a password."
        remedy = "Set requirepass there, and put the password into STEPMILL_REDIS_URL."
        yield fault("redis", "redis_open", message, remedy, Level.WARNING)


def _policy(client: Redis, info: dict[str, Any]) -> Iterator[Finding]:
    policy = str(info.get("maxmemory_policy", "noeviction"))
    if policy != "noeviction":
        message = f"Redis may drop messages: its maxmemory-policy is {policy}."
        yield fault("redis", "redis_eviction", message, "Set `maxmemory-policy noeviction` there.")
    limit, used = int(info.get("maxmemory", 0)), int(info.get("used_memory", 0))
    if limit and used > 0.9 * limit:
        message = f"Redis uses {used / limit:.0%} of its maxmemory."
        yield fault("redis", "redis_memory", message, "Raise maxmemory, or find what else fills it.", Level.WARNING)
