"""The only module that sends messages. They carry ids, are sent after the commit, and may be lost without harm."""

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
"""Everything that sending may raise: Redis is unreachable, hanging, full, read-only, or refuses the password."""

ABORT_CHANNEL = "stepmill.abort"
THINK_TASK = "think"
PROBE_KEY = "stepmill.probe"


class Dispatcher:
    """Sends work messages through the application's broker. Thread-safe."""

    def __init__(self, app: Celery, redis: Redis) -> None:
        self._app = app
        self.redis = redis
        self._timer = _Timer(self._send)
        self._hints = Hints(redis)

    def send(self, messages: Sequence[WorkMessage]) -> None:
        """Sends due messages now and the others when they are due. Sweepers send those that could not be sent."""
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
            # Ids only, so that a run's content stays out of logs and Flower.
            argsrepr=f"run={message.run_id} step={message.step}{call} attempt={message.attempt} queue={message.queue}",
            kwargsrepr="",
        )
        # Not `send_task`, whose routes, signals and retries are not needed and take twice as long.
        producer.publish(
            task.body, exchange="", routing_key=message.queue, serializer="json", headers=task.headers, retry=False,
            **task.properties,
        )  # fmt: skip

    def abort(self, run_ids: Iterable[str]) -> None:
        """Tells every worker to stop work for these runs. Heartbeats find what this misses."""
        ids = list(run_ids)
        if not ids:
            return
        try:
            self.redis.publish(ABORT_CHANNEL, json.dumps(ids))
        except SENDING_FAILS as error:
            log.warning("Could not tell workers to stop %d runs at once; they will notice: %s", len(ids), error)

    def changed(self, run_ids: Iterable[str]) -> None:
        """Notifies followers of these runs. Returns at once; followers notice lost notices later."""
        self._hints.add(run_ids)

    def heard(self) -> Iterator[list[str]]:
        """Yields ids of changed runs forever; see `worker.change_notices.heard`."""
        return heard(self.redis)

    def lengths(self, queues: Iterable[str]) -> dict[str, int]:
        """Returns how many work messages wait in each queue. Raises `RedisError`."""
        names = sorted(set(queues))
        with self.redis.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.llen(name)
            return dict(zip(names, pipe.execute(), strict=True))

    def check_room(self) -> None:
        """Raises `RedisError` if Redis accepts no messages: full, read-only, or unreachable."""
        self.redis.set(PROBE_KEY, 1, ex=10)


class _Timer:
    """Sends messages when they are due, from one thread per process. The due times are also in the database."""

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
    """Returns a client with time limits: with the library's default of ten retries a hang would last a minute.

    Pass `socket_timeout=None` for blocking reads.
    """
    bounds = {"socket_timeout": 5.0, "socket_connect_timeout": 5.0, "retry": Retry(NoBackoff(), 1)}
    return Redis.from_url(url, **{**bounds, **options})
