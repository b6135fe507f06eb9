"""The servers shared by all measurements: one model, one Redis, one PostgreSQL with its default `fsync`."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from psycopg import sql

from tests.services.postgres import PostgresServer, as_unprivileged
from tests.services.process import ServerProcess, free_port
from tests.services.redis import RedisServer
from tests.services.waiting import wait_until
from worker.store.schema.migrate import upgrade

ROOT = Path(__file__).resolve().parents[2]
POSTGRES_SETTINGS = {
    "shared_buffers": "256MB",
    "max_connections": "200",
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "timezone": "UTC",
}
"""Durability as PostgreSQL ships it: fsync, full_page_writes and synchronous_commit are on."""


class DurablePostgres(PostgresServer):
    """The tests' server, without what makes it fast and forgetful."""

    def start(self) -> None:
        options = [f"--{name}={value}" for name, value in POSTGRES_SETTINGS.items()]
        argv = [str(self._binaries / "postgres"), "-D", str(self._data), "-p", str(self.port), *options]
        self.server = ServerProcess(as_unprivileged(argv), self.directory / "postgres.log", grace_s=5)
        wait_until("PostgreSQL answers", self._answers, 30)


class ModelServer:
    """The model in a process of its own, and how to talk to it from here."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self.base_url = f"http://127.0.0.1:{self.port}/v1"
        argv = [sys.executable, "-m", "tests.bench.model_server", str(self.port)]
        self.server = ServerProcess(argv, directory / "model.log")
        self._http = httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=30.0)
        wait_until("the model answers", self._answers)

    def set(self, latency_s: float = 0.0, calls: int = 3) -> None:
        """Changes it for requests from now on, and forgets what was logged."""
        self._http.get("/set", params={"latency_s": latency_s, "calls": calls, "most_in_flight": 0})
        self.calls()

    def counts(self) -> dict[str, Any]:
        """`served`, `in_flight`, `most_in_flight`."""
        return dict(self._http.get("/").json())

    def calls(self) -> dict[str, tuple[float, float]]:
        """Moments of receipt and reply by request id, which for ours is the lease token; since this was last asked."""
        return {token: (received, sent) for token, received, sent in self._http.get("/calls").json()}

    def stop(self) -> None:
        self._http.close()
        self.server.stop()

    def _answers(self) -> bool:
        try:
            return self._http.get("/").is_success
        except httpx2.TransportError:
            return False


@dataclass
class Servers:
    """What is started once for a whole bench."""

    directory: Path
    model: ModelServer
    redis: RedisServer
    postgres: DurablePostgres
    _databases: int = 0

    def database(self, kind: str) -> str:
        """The URL of a fresh, migrated database."""
        self._databases += 1
        if kind == "sqlite":
            url = f"sqlite:///{self.directory / f'bench-{self._databases}.db'}"
        else:
            url = self.postgres.create_database()
        upgrade(url)
        return url

    def empty_database(self) -> str:
        """A PostgreSQL database for somebody else's tables."""
        return self.postgres.create_database()

    def redis_url(self, number: int) -> str:
        """One of the server's databases, so that brokers do not see each other."""
        return f"{self.redis.url[:-1]}{number}"

    def checkpoint(self) -> None:
        """Writes out what PostgreSQL holds, so that no measurement pays for the one before it."""
        self.postgres.execute(sql.Composed([sql.SQL("CHECKPOINT")]))


@contextmanager
def servers() -> Iterator[Servers]:
    """Starts them; ends them and removes their files whatever happens."""
    directory = Path(tempfile.mkdtemp(prefix="stepmill-bench-"))
    started: list[Any] = []
    try:
        model = ModelServer(directory)
        started.append(model.stop)
        redis = RedisServer(directory)
        started.append(redis.stop)
        postgres = DurablePostgres()
        started.append(postgres.remove)
        yield Servers(directory, model, redis, postgres)
    finally:
        for stop in reversed(started):
            stop()
        shutil.rmtree(directory)
