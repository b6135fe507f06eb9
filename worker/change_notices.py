"""Notifies clients that follow runs of changes. A hint may be lost, so followers also poll."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Sequence

from redis import Redis
from redis.exceptions import RedisError

log = logging.getLogger(__name__)

HINT_CHANNEL = "stepmill.changed"

GATHER_S = 0.05
"""Hints of this many seconds are sent as one message."""
DEAF_S = 1.0
"""Seconds for which hints are dropped after Redis reported that there are no subscribers."""
MOST = 5_000
"""The most ids that are gathered; further ones are lost."""
TURN_S = 1.0


class Hints:
    """Gathers run ids and publishes them from its own thread, so that callers never wait for Redis."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._ids: set[str] = set()
        self._lock = threading.Lock()
        self._some = threading.Event()
        self._thread: threading.Thread | None = None
        self._deaf_until = 0.0

    def add(self, run_ids: Iterable[str]) -> None:
        """Announces that these runs have changed, after the commit. Returns at once."""
        if time.monotonic() < self._deaf_until:
            return
        with self._lock:
            if len(self._ids) < MOST:
                self._ids.update(run_ids)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="hints", daemon=True)
                self._thread.start()
        self._some.set()

    def _run(self) -> None:
        while True:
            self._some.wait()
            time.sleep(GATHER_S)
            with self._lock:
                ids, self._ids = self._ids, set()
                self._some.clear()
            try:
                self._publish(sorted(ids))
            except RedisError as error:
                log.debug("Hints are lost: %s", type(error).__name__)
                self._deaf_until = time.monotonic() + DEAF_S

    def _publish(self, ids: Sequence[str]) -> None:
        if ids and not self._redis.publish(HINT_CHANNEL, json.dumps(ids)):
            self._deaf_until = time.monotonic() + DEAF_S


def heard(redis: Redis) -> Iterator[list[str]]:
    """Listens forever: yields the ids of each message, and [] after a second without one. Raises `RedisError`."""
    with redis.pubsub(ignore_subscribe_messages=True) as channel:  # type: ignore[no-untyped-call]
        channel.subscribe(HINT_CHANNEL)
        yield []
        while True:
            message = channel.get_message(timeout=TURN_S)
            yield _ids(message["data"]) if message is not None else []


def _ids(data: str | bytes) -> list[str]:
    """Returns the ids in a message; other programs' messages give none."""
    try:
        found = json.loads(data)
    except ValueError:
        return []
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
