"""Fixtures for all tests: real servers, fresh databases, no network access beyond this machine."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from psycopg import sql

from tests.services.network_guard import NetworkGuard
from tests.services.postgres import PostgresServer
from tests.services.redis import RedisServer

# How long an example takes says more about the machine's other work than about the code.
# CI tries the same examples each time; at home each run tries others.
settings.register_profile(
    "stepmill", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("stepmill")

GUARD = NetworkGuard()
GUARD.install()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--chaos-seed", type=int, default=1, help="the seed of the faults in tests marked `chaos`")


@pytest.fixture
def chaos_seed(request: pytest.FixtureRequest) -> int:
    """The seed that `make chaos SEED=n` names."""
    seed: int = request.config.getoption("--chaos-seed")
    return seed


@pytest.fixture(autouse=True)
def loopback_only(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that connects to anything but loopback or a unix socket; `internet` tests are exempt."""
    GUARD.attempts.clear()
    GUARD.active = request.node.get_closest_marker("internet") is None
    yield
    GUARD.active = False
    assert not GUARD.attempts, f"the test connected to the outside world: {GUARD.attempts}"


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """One server for each test process. A test that stops it must start it again."""
    directory = Path(tempfile.mkdtemp(prefix="stepmill-test-redis-"))
    server = RedisServer(directory)
    yield server
    server.stop()
    shutil.rmtree(directory)


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """An empty Redis with a password."""
    with redis_server.client() as client:
        client.flushall()
    return redis_server.url


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for each test process. A test that stops it must start it again."""
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def postgres_template(postgres_server: PostgresServer) -> str:
    """The name of a migrated database that tests clone."""
    from worker.store.schema.migrate import upgrade  # only tests that need a database depend on the store

    url = postgres_server.create_database()
    upgrade(url)
    name = url.rpartition("/")[2]
    closed = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(sql.Identifier(name))
    postgres_server.execute(closed)
    return name


@pytest.fixture
def empty_postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """A PostgreSQL database without any table."""
    url = postgres_server.create_database()
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def postgres_url(postgres_server: PostgresServer, postgres_template: str) -> Iterator[str]:
    """A migrated PostgreSQL database of this test's own."""
    url = postgres_server.create_database(postgres_template)
    yield url
    postgres_server.drop_database(url)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file that tests copy."""
    from worker.store.schema.migrate import upgrade  # only tests that need a database depend on the store

    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    upgrade(f"sqlite:///{path}")
    return path


@pytest.fixture
def sqlite_url(tmp_path: Path, sqlite_template: Path) -> str:
    """A migrated SQLite database of this test's own."""
    for source in sqlite_template.parent.glob(sqlite_template.name + "*"):
        shutil.copyfile(source, tmp_path / source.name.replace("template.db", "stepmill.db"))
    return f"sqlite:///{tmp_path / 'stepmill.db'}"


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A migrated database of this test's own: each test runs once on SQLite and once on PostgreSQL."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url
