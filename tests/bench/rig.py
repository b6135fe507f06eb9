"""A stack to measure: an API and worker processes against one database, started as a user starts them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psutil
from sqlalchemy import func, select

from tests.bench.servers import ROOT, Servers
from tests.services.process import ServerProcess, free_port
from tests.services.waiting import wait_until
from worker.store.opening import open_store
from worker.store.schema.tables import batches, runs
from worker.store.session import Store

THINK = ("think", "think.interactive")
TOOLS = ("tools.local",)
STEPMILL = Path(sys.executable).with_name("stepmill")


@dataclass
class Worker:
    """A worker process, and how long it took to be ready."""

    server: ServerProcess
    started_s: float

    @property
    def process(self) -> psutil.Process:
        return process_of(self.server)

    @property
    def rss_mb(self) -> float:
        return rss_mb(self.process)

    def children(self) -> list[psutil.Process]:
        """Its pool's processes."""
        return [one for one in self.process.children() if "_tracker" not in " ".join(one.cmdline())]


def process_of(server: ServerProcess) -> psutil.Process:
    """What was started, below the wrapper that ends it with the bench."""
    return psutil.Process(server.process.pid).children()[0]


def rss_mb(process: psutil.Process) -> float:
    """Its resident memory."""
    return float(process.memory_info().rss) / 1e6


@dataclass
class Rig:
    """One database with what works on it."""

    servers: Servers
    kind: str
    redis_number: int
    env: dict[str, str] = field(default_factory=dict)
    workers: list[Worker] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.database_url = self.servers.database(self.kind)
        self.redis_url = self.servers.redis_url(self.redis_number)
        self.store: Store = open_store(self.database_url, pool_size=2)
        self.directory = self.servers.directory / f"{self.kind}-{time.monotonic_ns()}"
        self.directory.mkdir()
        port = free_port()
        argv = [sys.executable, "-m", "uvicorn", "--factory", "api.app:app", "--port", str(port)]
        self.api = self._spawn(argv, "api.log")
        self.http = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=600.0)
        wait_until("the API answers", self._answers, 60)

    def worker(self, queues: Sequence[str], pool: str, slots: int) -> Worker:
        """Starts a worker and waits until it is ready."""
        log = f"worker-{time.monotonic_ns()}.log"
        argv = [str(STEPMILL), "worker", "--queues", ",".join(queues), "--pool", pool, "--concurrency", str(slots)]
        began = time.monotonic()
        server = self._spawn(argv, log)

        def ready() -> bool:
            assert server.is_running(), f"the worker ended at its start:\n{server.output()}"
            return " is ready: " in server.output()

        wait_until("the worker is ready", ready, 60)
        worker = Worker(server, time.monotonic() - began)
        self.workers.append(worker)
        return worker

    def drop(self, worker: Worker) -> None:
        """Ends a worker; it signs off and hands back what it held."""
        worker.process.terminate()
        wait_until("a worker has ended", lambda: not worker.server.is_running(), 30)
        worker.server.stop()
        self.workers.remove(worker)

    def submit(self, count: int, **options: Any) -> str:
        """A batch of so many questions, over the API."""
        body = {"runs": [f"What is it, number {n}?" for n in range(count)], **options}
        answer = self.http.post("/api/batches", json=body)
        assert answer.is_success, answer.text
        return str(answer.json()["batch_id"])

    def ask(self) -> str:
        """One interactive run, over the API; returns its id."""
        answer = self.http.post("/api/runs", json={"question": "What is it?"})
        assert answer.is_success, answer.text
        return str(answer.json()["run_id"])

    def finish(self, batch_id: str, timeout_s: float = 600.0) -> float:
        """Waits for the batch's end. Seconds from its submission to its last run's end, on the database's clock."""
        ended = select(batches.c.finished_at).where(batches.c.id == batch_id)
        wait_until(f"{batch_id} has ended", lambda: self.value(ended), timeout_s)
        states = select(func.count()).where(runs.c.batch_id == batch_id, runs.c.answer != "42")
        assert self.value(states) == 0, f"{self.value(states)} runs did not answer"
        last = select(func.max(runs.c.finished_at)).where(runs.c.batch_id == batch_id).scalar_subquery()
        return float(self.value(select(last - batches.c.created_at).where(batches.c.id == batch_id)))

    @property
    def api_rss_mb(self) -> float:
        return rss_mb(process_of(self.api))

    def value(self, query: Any) -> Any:
        with self.store.read() as tx:
            return tx.execute(query).scalar()

    def rows(self, query: Any) -> Sequence[Any]:
        with self.store.read() as tx:
            return tx.execute(query).all()

    def stop(self) -> None:
        for worker in self.workers:
            worker.server.stop()
        self.http.close()
        self.api.stop()
        self.store.dispose()

    def _answers(self) -> bool:
        assert self.api.is_running(), f"the API ended at its start:\n{self.api.output()}"
        try:
            return self.http.get("/readyz").is_success
        except httpx2.TransportError:
            return False

    def _spawn(self, argv: Sequence[str], log: str) -> ServerProcess:
        ours = {
            "STEPMILL_DATABASE_URL": self.database_url, "STEPMILL_REDIS_URL": self.redis_url,
            "STEPMILL_DATA_DIR": str(self.directory), "STEPMILL_MODEL": "bench", "OPENAI_API_KEY": "bench",
            "OPENAI_BASE_URL": self.servers.model.base_url, "PYTHONPATH": str(ROOT), **self.env,
        }  # fmt: skip
        variables = [f"{name}={value}" for name, value in ours.items()]
        return ServerProcess(["env", *variables, *argv], self.directory / log, grace_s=1.0)


@contextmanager
def rig(servers: Servers, kind: str, redis_number: int = 0, **env: str) -> Iterator[Rig]:
    """A stack without workers; keywords are settings without their prefix."""
    opened = Rig(servers, kind, redis_number, {f"STEPMILL_{name}": value for name, value in env.items()})
    try:
        yield opened
    finally:
        opened.stop()
