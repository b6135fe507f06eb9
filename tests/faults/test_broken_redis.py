"""Redis is full, hangs, or holds garbage: workers end in time, no effect follows a hand-back, nothing is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from sqlalchemy import select

from tests.engine.fleet import THINK, Fleet
from tests.engine.processes import lives
from tests.engine.questions import sums
from tests.engine.wholeness import assert_whole
from tests.services.redis import RedisServer
from worker.fleet.drain import EXIT_MARGIN_S, SEND_AT_END_S, SIGN_OFF_S
from worker.store.schema.tables import active, attempts, workers

pytestmark = pytest.mark.timeout(300)

GARBAGE = [
    b"",
    b"\xff\xfe",
    b"not json",
    b"5",
    b"null",
    b"[1, 2]",
    b"{}",
    b'{"properties": {}}',
    b'{"properties": {"delivery_tag": "x"}, "body": 7}',
    b'{"properties": {"delivery_tag": "x", "body_encoding": "base64"}, "body": "*", "headers": 5}',
    b"[" * 100_000,
]


@pytest.fixture
def full_redis(redis_server: RedisServer) -> Iterator[RedisServer]:
    """Takes no writes at all while `fill` is in force."""
    yield redis_server
    with redis_server.client() as client:
        client.config_set("maxmemory", 0)


def fill(server: RedisServer) -> None:
    with server.client() as client:
        client.config_set("maxmemory", 1)


def ends_within_s(fleet: Fleet) -> float:
    return fleet.settings.drain_grace_s + 2 * EXIT_MARGIN_S + SIGN_OFF_S + 2 * SEND_AT_END_S


@pytest.mark.parametrize("trouble", ["full", "hanging"])
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_sigterm_ends_every_worker_in_its_time_and_no_effect_follows_the_hand_back(
    fleet: Fleet, full_redis: RedisServer, trouble: str
) -> None:
    leaving = [
        fleet.start(THINK, slots=4),
        fleet.start(["tools.slow"], slots=2),
        fleet.start(["tools.deadly"], pool="prefork", slots=1),
    ]
    batch = fleet.submit(["Use doze(seconds=300).", "Use linger(seconds=300)."])
    fleet.wait("the tools run", lambda: len(fleet.in_flight(call=True)) == 2, 60)
    children = [child for worker in leaving for child in worker.children()]
    if trouble == "full":
        fill(full_redis)
    else:
        hang(full_redis)
    try:
        for worker in leaving:
            worker.signal(signal.SIGTERM)
        fleet.wait("all have left", lambda: not any(worker.alive for worker in leaving), ends_within_s(fleet))
        fleet.wait("their children are gone", lambda: not any(lives(child) for child in children), 2)
        assert {row.state for row in fleet.rows(select(workers))} == {"stopped"}
    finally:
        wake(full_redis)
    with full_redis.client() as client:
        client.config_set("maxmemory", 0)
    assert fleet.ended(batch) == 0 and fleet.rows(select(attempts).where(attempts.c.outcome == "lost")) == []


def hang(server: RedisServer) -> None:
    for pid in server_pids(server):
        os.kill(pid, signal.SIGSTOP)


def wake(server: RedisServer) -> None:
    for pid in server_pids(server):
        os.kill(pid, signal.SIGCONT)


def server_pids(server: RedisServer) -> list[int]:
    return [child.pid for child in psutil.Process(server.server.process.pid).children(recursive=True)]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_full_redis_stops_nothing_for_good(fleet: Fleet, full_redis: RedisServer) -> None:
    fleet.start(slots=4)
    fleet.finish(fleet.submit(sums(3)))
    fill(full_redis)
    batch = fleet.submit(sums(20))
    fleet.wait("runs were admitted all the same", lambda: fleet.rows(select(active)))
    fleet.wait("sweeps go on", lambda: fleet.workers[0].output().count("work messages could not be sent") >= 3, 30)
    with full_redis.client() as client:
        client.config_set("maxmemory", 0)
    assert fleet.finish(batch) == {"succeeded": 20}
    assert "This sweep failed" not in fleet.workers[0].output()
    assert_whole(fleet, batch)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_garbage_in_a_queue_is_dropped_and_named_and_the_worker_goes_on(
    fleet: Fleet, redis_server: RedisServer
) -> None:
    worker = fleet.start(slots=4)
    with redis_server.client() as client:
        for entry in GARBAGE:
            client.lpush("think", entry)
    assert fleet.finish(fleet.submit(sums(5))) == {"succeeded": 5}
    fleet.wait("the garbage is gone", lambda: length(redis_server, "think") == 0)
    assert worker.alive and "was dropped" in worker.output()


def length(server: RedisServer, queue: str) -> int:
    with server.client() as client:
        return int(client.llen(queue))


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_worker_that_cannot_give_messages_back_leaves_no_dump_behind(
    fleet: Fleet, full_redis: RedisServer, tmp_path: Path
) -> None:
    fleet.practice.control(latency="60")
    fleet.env["TMPDIR"] = str(tmp_path)
    worker = fleet.start(slots=1)
    fleet.submit(sums(6))
    fleet.wait("the model is asked", lambda: fleet.practice.stats()["in_flight"] == 1)
    fill(full_redis)
    worker.signal(signal.SIGTERM)
    fleet.wait("it has left", lambda: not worker.alive, ends_within_s(fleet))
    left = {file.name for file in tmp_path.iterdir() if file.suffix != ".log" and file.is_file()}
    assert not {name for name in left if name.startswith("tmp")}
