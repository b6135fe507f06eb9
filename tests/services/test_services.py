"""The servers that tests rely on are real, private to the test, and leave nothing behind."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest
import redis
from sqlalchemy import Engine, create_engine, text

from tests.conftest import GUARD
from tests.services.network_guard import OutsideWorld
from tests.services.postgres import PostgresServer
from tests.services.redis import NO_RETRY, RedisServer
from tests.services.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]


def test_redis_wants_its_password(redis_server: RedisServer) -> None:
    with redis.Redis(port=redis_server.port, retry=NO_RETRY) as client, pytest.raises(redis.AuthenticationError):
        client.ping()


def test_redis_is_empty_and_evicts_nothing(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        assert client.dbsize() == 0
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        client.set("left", "over")


def test_redis_forgets_what_the_last_test_left(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.get("left") is None


def test_redis_comes_back_on_the_same_port(redis_server: RedisServer) -> None:
    redis_server.stop()
    with redis_server.client() as client, pytest.raises(redis.ConnectionError):
        client.ping()
    redis_server.start()
    with redis_server.client() as client:
        assert client.ping()


def test_postgres_databases_are_apart(postgres_server: PostgresServer) -> None:
    first, second = postgres_server.create_database(), postgres_server.create_database()
    with psycopg.connect(first) as connection:
        connection.execute("CREATE TABLE mine (id int)")
    with psycopg.connect(second) as connection:
        assert connection.execute("SELECT to_regclass('mine')").fetchone() == (None,)
    postgres_server.drop_database(first)
    postgres_server.drop_database(second)


def test_postgres_keeps_its_data_over_a_restart(postgres_server: PostgresServer, empty_postgres_url: str) -> None:
    with psycopg.connect(empty_postgres_url) as connection:
        connection.execute("CREATE TABLE kept (id int)")
    postgres_server.stop()
    postgres_server.start()
    with psycopg.connect(empty_postgres_url) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)


def test_each_test_gets_a_migrated_database_of_its_own_on_both_engines(database_url: str) -> None:
    with closing_engine(database_url) as engine, engine.begin() as connection:
        assert connection.execute(text("SELECT count(*) FROM runs")).scalar_one() == 0


def test_a_connection_to_the_outside_is_refused_and_noted() -> None:
    with socket.socket() as connection, pytest.raises(OutsideWorld, match=r"192\.0\.2\.1"):
        connection.connect(("192.0.2.1", 80))
    assert GUARD.attempts == ["192.0.2.1:80"]
    GUARD.attempts.clear()


def test_waiting_in_vain_says_for_what() -> None:
    with pytest.raises(AssertionError, match="until pigs fly; last seen: 0"):
        wait_until("pigs fly", lambda: 0, timeout_s=0.05)


def test_servers_die_with_a_test_process_that_is_killed_hard(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import pathlib, sys
        from tests.services.postgres import PostgresServer
        from tests.services.redis import RedisServer
        redis, postgres = RedisServer(pathlib.Path(sys.argv[1])), PostgresServer()
        print(redis.server.process.pid, postgres.server.process.pid, postgres.directory, flush=True)
        sys.stdin.read()
        """
    )
    argv = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as session:
        assert session.stdout is not None
        *wrappers, directory = session.stdout.readline().split()
        family = [one for pid in wrappers for one in with_descendants(int(pid))]
        assert {"redis-server", "postgres"} <= {one.name() for one in family}
        os.kill(session.pid, signal.SIGKILL)
    wait_until("every server process ended", lambda: not any(one.is_running() for one in family))
    shutil.rmtree(directory)


@contextmanager
def closing_engine(url: str) -> Iterator[Engine]:
    engine = create_engine(url)
    yield engine
    engine.dispose()


def with_descendants(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]
