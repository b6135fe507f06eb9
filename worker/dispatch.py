"""The only sender. A message carries ids; it is sent after the commit that makes it true, and never relied upon."""

from __future__ import annotations

import heapq
import itertools
import json
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from celery import Celery
from kombu.exceptions import KombuError
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from worker.change_notices import Hints, heard
from worker.core.work_messages import WorkMessage

log = logging.getLogger(__name__)

SENDING_FAILS = (KombuError, RedisError, OSError)
"""All that sending may raise: Redis away, hanging, full, read-only, or refusing the password."""

ABORT_CHANNEL = "stepmill.abort"
THINK_TASK = "think"
PROBE_KEY = "stepmill.probe"


class Dispatcher:
    """Sends work messages over the application's broker. Safe to share between threads."""

    def __init__(self, app: Celery, redis: Redis) -> None:
        self._app = app
        self.redis = redis
        self._timer = _Timer(self._send)
        self._hints = Hints(redis)

    def send(self, messages: Sequence[WorkMessage]) -> None:
        """Sends those that are due, and the others when they are. What cannot be sent is sent again by sweepers."""
        self.changed(message.run_id for message in messages)
        now = [message for message in messages if message.due_in_s <= 0]
        self._timer.add(message for message in messages if message.due_in_s > 0)
        if now:
            self._send(now)

    def _send(self, messages: Sequence[WorkMessage]) -> None:
        try:
            with self._app.producer_or_acquire(None) as producer:
                if len(messages) == 1:
                    self._publish(messages[0], producer)
                    return
                with producer.batch():
                    for message in messages:
                        self._publish(message, producer)
        except SENDING_FAILS as error:
            log.warning("%d work messages could not be sent, sweepers will send them: %s", len(messages), error)

    def _publish(self, message: WorkMessage, producer: Any) -> None:
        call = f" call={message.call}" if message.call else ""
        task = self._app.amqp.as_task_v2(
            message.task_id,
            f"tools.{message.tool}" if message.call else THINK_TASK,
            [message.run_id, message.step, message.call, message.attempt],
            ignore_result=True,
            # Ids only: what a run is about stays out of logs and of Flower.
            argsrepr=f"run={message.run_id} step={message.step}{call} attempt={message.attempt} queue={message.queue}",
            kwargsrepr="",
        )
        # Past `send_task`, whose routes, signals and retries a message has no use for and which take twice as long.
        producer.publish(
            task.body, exchange="", routing_key=message.queue, serializer="json", headers=task.headers, retry=False,
            **task.properties,
        )  # fmt: skip

    def abort(self, run_ids: Iterable[str]) -> None:
        """Tells every worker to stop what it does for these runs. Heartbeats find what this misses."""
        ids = list(run_ids)
        if not ids:
            return
        try:
            self.redis.publish(ABORT_CHANNEL, json.dumps(ids))
        except SENDING_FAILS as error:
            log.warning("Workers could not be told at once to stop %d runs; they will notice: %s", len(ids), error)

    def changed(self, run_ids: Iterable[str]) -> None:
        """Tells who follows these runs that they changed. Returns at once; what is lost is noticed later."""
        self._hints.add(run_ids)

    def heard(self) -> Iterator[list[str]]:
        """Which runs others say have changed, for ever; see `worker.change_notices.heard`."""
        return heard(self.redis)

    def lengths(self, queues: Iterable[str]) -> dict[str, int]:
        """How many work messages wait in each queue. Raises `RedisError`."""
        names = sorted(set(queues))
        with self.redis.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.llen(name)
            return dict(zip(names, pipe.execute(), strict=True))

    def check_room(self) -> None:
        """Raises `RedisError` where Redis takes no more messages: full, read-only, or away."""
        self.redis.set(PROBE_KEY, 1, ex=10)


class _Timer:
    """Rings later, from one thread a process. Lost with the process: the due time stands in the database."""

    def __init__(self, send: Any) -> None:
        self._send = send
        self._heap: list[tuple[float, int, WorkMessage]] = []
        self._serial = itertools.count()
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, work_messages: Iterable[WorkMessage]) -> None:
        with self._wake:
            for work_message in work_messages:
                heapq.heappush(self._heap, (time.monotonic() + work_message.due_in_s, next(self._serial), work_message))
            if self._heap and self._thread is None:
                self._thread = threading.Thread(target=self._run, name="due-messages", daemon=True)
                self._thread.start()
            self._wake.notify()

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._heap or self._heap[0][0] > time.monotonic():
                    self._wake.wait(self._heap[0][0] - time.monotonic() if self._heap else None)
                due = []
                while self._heap and self._heap[0][0] <= time.monotonic():
                    due.append(heapq.heappop(self._heap)[2])
            self._send(due)


def connect_redis(url: str, **options: Any) -> Redis:
    """A client whose commands are bounded in time: the library's own ten repeats would make a minute of a hang.

    Blocking reads need `socket_timeout=None`.
    """
    bounds = {"socket_timeout": 5.0, "socket_connect_timeout": 5.0, "retry": Retry(NoBackoff(), 1)}
    return Redis.from_url(url, **{**bounds, **options})
