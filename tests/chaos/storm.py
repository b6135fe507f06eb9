"""The storm: one random fault after another for a bounded time, all of them named verbs, drawn from a seed."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import psutil
import redis

from tests.engine.fleet import EVERYTHING, Fleet
from tests.engine.processes import Worker
from tests.faults.proxy import Proxy

RUNS_VARIABLE = "STEPMILL_CHAOS_RUNS"
MODEL_FAULTS = ("500:0.1", "drop:0.1", "drop_mid:0.1", "503:0.1", "429:0.1,retry_after=1", "garbage:0.1")
WORKERS: tuple[tuple[tuple[str, ...], str, int], ...] = (
    (EVERYTHING, "threads", 8),
    (EVERYTHING, "threads", 8),
    (("tools.test", "tools.slow"), "prefork", 2),
    (("quarantine",), "prefork", 1),
)


@dataclass
class Storm:
    """Strikes a fleet. `to_database` is None for SQLite, from which nothing can be cut."""

    fleet: Fleet
    dice: random.Random
    to_redis: Proxy
    to_database: Proxy | None = None
    workers: list[Worker] = field(default_factory=list)
    struck: Counter[str] = field(default_factory=Counter)

    def begin(self) -> None:
        for queues, pool, slots in WORKERS:
            self.workers.append(self.fleet.start(queues, pool, slots))

    def rage(self, until: Callable[[], bool], for_s: float) -> None:
        """One fault after another until the condition holds or the time is over; then the air is clear."""
        verbs: list[Callable[[], None]] = [
            self.kill_worker, self.kill_child, self.freeze_and_thaw, self.terminate, self.cut_redis, self.empty_redis,
            self.deliver_twice, self.lose_messages, self.trouble_the_model, self.set_a_clock_off,
        ]  # fmt: skip
        if self.to_database is not None:
            verbs.append(self.cut_database)
        ends = time.monotonic() + for_s
        while not until() and time.monotonic() < ends:
            verb = self.dice.choice(verbs)
            self.struck[verb.__name__] += 1
            verb()
            self._let_pass(self.dice.uniform(0.1, 1.0))
        self.fleet.practice.control(faults=[])

    def kill_worker(self) -> None:
        number = self._any_worker()
        self.workers[number].kill()
        self._replace(number)

    def terminate(self) -> None:
        """SIGTERM: it hands back what it cannot finish."""
        number = self._any_worker()
        if self.workers[number].alive:
            self.workers[number].signal(signal.SIGTERM)
        self._replace(number)

    def kill_child(self) -> None:
        """A process of the tools' pool."""
        try:
            children = self.workers[2].children()
            if children:
                self.dice.choice(children).kill()
        except psutil.NoSuchProcess:
            self.struck["kill_child"] -= 1  # it was dead already, or not there yet

    def freeze_and_thaw(self) -> None:
        """Sometimes for longer than it takes to be taken for dead."""
        worker = self.workers[self._any_worker()]
        if worker.alive:
            self.fleet.freeze(worker)
            self._let_pass(self.dice.uniform(0.2, 3.0))
            worker.thaw()

    def cut_redis(self) -> None:
        with self.to_redis.gone():
            self._let_pass(self.dice.uniform(0.2, 2.5))

    def cut_database(self) -> None:
        assert self.to_database is not None
        with self.to_database.gone():
            self._let_pass(self.dice.uniform(0.2, 2.5))

    def empty_redis(self) -> None:
        with self._client() as client:
            client.flushall()

    def deliver_twice(self) -> None:
        with self._client() as client:
            for queue in EVERYTHING:
                for message in client.lrange(queue, 0, 9):
                    client.rpush(queue, message)

    def lose_messages(self) -> None:
        with self._client() as client:
            for queue in EVERYTHING:
                client.rpop(queue, 3)

    def set_a_clock_off(self) -> None:
        """A worker's wall clock jumps, and may jump again from there."""
        self.workers[self._any_worker()].set_clock_off(self.dice.choice((-86_400, -40, -1, 0, 1, 40, 86_400)))

    def trouble_the_model(self) -> None:
        self.fleet.practice.control(faults=self.dice.sample(MODEL_FAULTS, 2))

    def _client(self) -> redis.Redis:
        """Past the proxy: the test itself is never cut off."""
        return redis.Redis.from_url(self.to_redis.target_url)

    def _any_worker(self) -> int:
        return self.dice.randrange(len(self.workers))

    def _replace(self, number: int) -> None:
        queues, pool, slots = WORKERS[number]
        self.workers[number] = self.fleet.start(queues, pool, slots, wait=False)

    def _let_pass(self, seconds: float) -> None:
        since = time.monotonic()
        self.fleet.wait("time has passed", lambda: time.monotonic() - since >= seconds, seconds + 5)
