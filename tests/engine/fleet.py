"""A fleet of real worker processes with a test's database, Redis and practice model, and helpers to use it."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import func, select

from tests.engine.counter import CountingServer
from tests.engine.processes import Nursery, Worker, family
from tests.services.waiting import wait_until
from worker.agents import load_agents
from worker.core.config import RunConfig
from worker.core.states import Klass
from worker.practice.serving import Control
from worker.settings import Settings
from worker.store.admission.submit import LOCAL_OWNER, NewBatch, NewRun, add_runs, open_batch, seal
from worker.store.configurations import put_configuration
from worker.store.schema.tables import active, attempts, batches, endings, runs, workers
from worker.store.session import Store

HOOKS = "tests.faults.hooks"
THINK = ("think", "think.interactive")
TEST_GROUPS = ("tools.local", "tools.test", "tools.slow", "tools.deadly")
EVERYTHING = (*THINK, *TEST_GROUPS)
SLACK_S = 3.0
"""What starting processes and a test's own looking add to a stated time."""


def slowness() -> float:
    """How many times longer everything takes on this machine at the moment than on one with a free core; at least 1."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


T = TypeVar("T")


def quick_settings() -> Settings:
    """Liveness a tenth as long as usual on a machine that is not busy: a takeover takes 1.6 s."""
    ticks = round(5 * slowness())
    return Settings(beat_s=0.2, tick_s=0.2, dead_after_ticks=ticks, resend_after_s=0.5, drain_grace_s=1.0)


@dataclass
class Fleet:
    """`env` holds for every worker that is started from now on."""

    nursery: Nursery
    store: Store
    database_url: str
    redis_url: str
    practice: Control
    counter: CountingServer
    directory: Path
    settings: Settings = field(default_factory=quick_settings)
    env: dict[str, str] = field(default_factory=dict)
    workers: list[Worker] = field(default_factory=list)

    def start(
        self,
        queues: Iterable[str] = EVERYTHING,
        pool: str = "threads",
        slots: int = 8,
        wait: bool = True,
        **env: str,
    ) -> Worker:
        """A worker; with `wait` it is ready on return. Keywords are environment variables, without their prefix."""
        number = len(self.workers) + 1
        log, clock = self.directory / f"worker-{number}.log", self.directory / f"worker-{number}.clock"
        order = {
            "env": self._environment({"TEST_CLOCK": str(clock), **env}), "log": str(log), "queues": list(queues),
            "pool": pool, "slots": slots, "name": f"w{number}",
        }  # fmt: skip
        worker = Worker(self.nursery.fork(order), log, clock)
        self.workers.append(worker)
        if wait:
            self.wait("the worker is ready", lambda: worker.ready, 40)
        return worker

    def freeze(self, worker: Worker) -> None:
        """SIGSTOP, at a moment when it does not hold SQLite's one lock: with that, it would freeze everybody."""

        def frozen_without_the_lock() -> bool:
            worker.signal(signal.SIGSTOP)
            if self._writable():
                return True
            worker.thaw()
            return False

        self.wait("the worker is frozen", frozen_without_the_lock)

    def _writable(self) -> bool:
        if self.store.postgres:
            return True
        connection = sqlite3.connect(self.database_url.removeprefix("sqlite:///"), timeout=0.3, isolation_level=None)
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
            return True
        except sqlite3.OperationalError:
            return False
        finally:
            connection.close()

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        return {
            "STEPMILL_BEAT_S": str(self.settings.beat_s),
            "STEPMILL_TICK_S": str(self.settings.tick_s),
            "STEPMILL_DEAD_AFTER_TICKS": str(self.settings.dead_after_ticks),
            "STEPMILL_RESEND_AFTER_S": str(self.settings.resend_after_s),
            "STEPMILL_DRAIN_GRACE_S": str(self.settings.drain_grace_s),
            "STEPMILL_DATABASE_URL": self.database_url,
            "STEPMILL_REDIS_URL": self.redis_url,
            "STEPMILL_PRACTICE_URL": self.practice.base_url,
            "STEPMILL_DATA_DIR": str(self.directory),
            "STEPMILL_TOOL_MODULES": HOOKS,
            "STEPMILL_TOOL_COUNTER": self.counter.url,
            "STEPMILL_MODEL": "",
            **self.env,
            **{f"STEPMILL_{name}": value for name, value in more.items()},
        }

    def configuration(self, **changes: Any) -> str:
        """Stores the assistant's configuration with changes, and returns its hash."""
        agents = load_agents(Settings(_env_file=None, model="", agents_file=None))
        body = agents.configuration("assistant").body() | {"tools": list(self.tools()), "max_steps": 30}
        return put_configuration(self.store, RunConfig.model_validate(body | changes))

    @staticmethod
    def tools() -> Sequence[str]:
        return (
            "calculator",
            "count_up",
            "look_up",
            "keep",
            "nap",
            "doze",
            "compute",
            "linger",
            "linger_in_child",
            "die",
            "leave",
            "live_on",
        )

    def submit(
        self, questions: Sequence[str], klass: Klass = Klass.BATCH, owner: str = LOCAL_OWNER, weight: float = 1.0,
        **configuration: Any,
    ) -> str:  # fmt: skip
        """Submits a batch and returns its id; the workers' admitters find it at their next tick."""
        config = self.configuration(**configuration)
        batch_id, _ = open_batch(self.store, NewBatch(owner_id=owner, klass=klass, weight=weight))
        add_runs(self.store, batch_id, owner, 1, [NewRun(question, config) for question in questions])
        seal(self.store, batch_id)
        return batch_id

    def states(self, batch_id: str) -> dict[str, int]:
        query = select(runs.c.state, func.count()).where(runs.c.batch_id == batch_id).group_by(runs.c.state)
        return {row[0]: row[1] for row in self.rows(query)}

    def ended(self, batch_id: str) -> int:
        return sum(count for state, count in self.states(batch_id).items() if state not in ("queued", "active"))

    def runs(self, batch_id: str) -> list[Any]:
        return self.rows(select(runs).where(runs.c.batch_id == batch_id).order_by(runs.c.seq))

    def rows(self, query: Any) -> list[Any]:
        with self.store.read() as tx:
            return list(tx.execute(query).all())

    def in_flight(self, call: bool) -> list[Any]:
        """Open attempts at model calls, or at tool calls."""
        which = attempts.c.call > 0 if call else attempts.c.call == 0
        return self.rows(select(attempts).where(attempts.c.ended_at.is_(None), which))

    def live_workers(self) -> int:
        return len(self.rows(select(workers.c.id).where(workers.c.state == "up")))

    def finish(self, batch_id: str, timeout_s: float = 60.0) -> dict[str, int]:
        """Waits until the batch has ended and is settled; returns how many runs ended in which state."""
        query = select(batches.c.id).where(batches.c.id == batch_id, batches.c.finished_at.is_not(None))

        def done() -> bool:
            self.last_seen = self.states(batch_id)
            return bool(self.rows(query))

        self.wait(f"{batch_id} has ended", done, timeout_s)
        return self.states(batch_id)

    def wait_for_ended(self, batch_id: str, count: int, timeout_s: float = 60.0) -> None:
        """Waits until so many of its runs have ended."""
        self.wait(f"{count} runs have ended", lambda: self.ended(batch_id) >= count, timeout_s)

    last_seen: Any = None

    def wait(self, description: str, condition: Callable[[], T | None], timeout_s: float = 20.0) -> T:
        """Like `wait_until`, longer on a busy machine, and shows the ends of the workers' logs if it was in vain."""
        try:
            return wait_until(description, condition, timeout_s * slowness())
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.last_seen}\n{self.hot_rows()}\n{self.logs()}") from None

    def hot_rows(self) -> str:
        rows = self.rows(select(active).limit(5))
        return "\n".join(str({k: v for k, v in r._mapping.items() if v not in (0, None, "", 0.0)}) for r in rows)

    def logs(self, lines: int = 15) -> str:
        return "\n".join(f"--- {w.log.name}\n" + "\n".join(w.output().splitlines()[-lines:]) for w in self.workers)

    def unsettled(self) -> int:
        return len(self.rows(select(endings.c.run_id)))

    def stop(self) -> None:
        """Ends everything hard."""
        for worker in self.workers:
            for process in family(worker.pid):
                process.kill()
        for worker in self.workers:
            wait_until("a worker is gone", lambda worker=worker: not worker.alive)  # type: ignore[misc]
