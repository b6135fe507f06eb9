"""The ceiling: bare Celery tasks that do nothing but publish the next, alternating between the engine's two pools."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from celery import Celery
from redis import Redis

from tests.bench.servers import ROOT, Servers
from tests.services.process import ServerProcess
from tests.services.waiting import wait_until

TASKS_A_RUN = 7
"""Four model calls and three tool calls."""
BROKER = "BENCH_BROKER"
DONE = "bench.done"

app = Celery("ceiling", broker=os.environ.get(BROKER, "redis://127.0.0.1:6379/0"), set_as_current=False)
app.conf.update(
    task_ignore_result=True,
    worker_prefetch_multiplier=1,
    broker_connection_retry_on_startup=True,
    broker_transport_options={"priority_steps": [0]},
)


@app.task(name="bench.hop", shared=False)
def hop(left: int) -> None:
    """Publishes the next of its chain for the other pool; the last one of a chain says so."""
    if left == 0:
        _redis().rpush(DONE, 1)
    else:
        hop.apply_async((left - 1,), queue="tools" if left % 2 == 0 else "think", retry=False)


_clients: dict[int, Redis] = {}


def _redis() -> Redis:
    return _clients.setdefault(os.getpid(), Redis.from_url(app.conf.broker_url))


class Ceiling:
    """Two workers, laid out as the engine's: threads for thinking, a process for tools."""

    def __init__(self, servers: Servers, number: int, threads: int, processes: int) -> None:
        self.url = servers.redis_url(number)
        self._redis = Redis.from_url(self.url)
        self._app = Celery("starter", broker=self.url, set_as_current=False)
        self._app.conf.broker_transport_options = {"priority_steps": [0]}
        self._workers = []
        for queue, pool, slots in (("think", "threads", threads), ("tools", "prefork", processes)):
            argv = ["env", f"{BROKER}={self.url}", f"PYTHONPATH={ROOT}", sys.executable, "-m", "celery"]
            argv += ["-A", "tests.bench.ceiling", "worker", "-Q", queue, "-P", pool, "-c", str(slots), "-n", queue]
            argv += ["--without-mingle", "--without-gossip", "--loglevel", "INFO"]
            self._workers.append(ServerProcess(argv, servers.directory / f"ceiling-{queue}.log"))
        for one in self._workers:
            wait_until("a bare worker is ready", lambda one=one: " ready." in one.output(), 60)  # type: ignore[misc]

    def tasks_per_s(self, chains: int) -> float:
        """Runs so many chains and returns the tasks a second."""
        self._redis.delete(DONE)
        began = time.perf_counter()
        with self._app.producer_or_acquire(None) as producer:
            for _ in range(chains):
                options: dict[str, Any] = {"queue": "think", "ignore_result": True, "retry": False}
                self._app.send_task("bench.hop", args=(TASKS_A_RUN - 1,), producer=producer, **options)
        wait_until("all chains have ended", lambda: self._redis.llen(DONE) >= chains, 300)
        return chains * TASKS_A_RUN / (time.perf_counter() - began)

    def stop(self) -> None:
        for one in self._workers:
            one.stop()
        self._redis.close()
        self._app.close()


@contextmanager
def ceiling(servers: Servers, number: int, threads: int, processes: int) -> Iterator[Ceiling]:
    """The bare workers while the block runs."""
    opened = Ceiling(servers, number, threads, processes)
    try:
        yield opened
    finally:
        opened.stop()
