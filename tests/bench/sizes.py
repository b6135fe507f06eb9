"""Bytes: what a step leaves in SQL, what a run in motion takes in Redis."""

from __future__ import annotations

from collections.abc import Iterator

from redis import Redis
from sqlalchemy import text

from tests.bench.bench import Bench
from tests.bench.report import Figure
from tests.bench.rig import THINK, TOOLS, Rig, rig
from tests.services.waiting import wait_until

SECTION = "bytes"
STEPS_A_RUN = 4
TABLES = ("runs", "steps", "tool_calls", "attempts", "active", "endings")


def measure(bench: Bench) -> Iterator[Figure]:
    """SQL on both databases, then Redis with and without runs in motion."""
    count = 100 if bench.quick else 1_000
    for number, kind in enumerate(("postgres", "sqlite")):
        bench.servers.model.set()
        with rig(bench.servers, kind, number) as opened:
            opened.worker(THINK, "threads", 4)
            opened.worker(TOOLS, "prefork", 1)
            opened.finish(opened.submit(10))
            before = _sql_bytes(opened)
            opened.finish(opened.submit(count))
            grown = _sql_bytes(opened) - before
            name = f"{kind}: a step with its call, attempts and share of its run"
            yield Figure(SECTION, name, grown / count / STEPS_A_RUN, "bytes")
    yield from _redis(bench)


def _sql_bytes(opened: Rig) -> float:
    """Tables with their indexes, without what is dead in them."""
    if opened.kind == "sqlite":
        names = ("page_count", "freelist_count", "page_size")
        with opened.store.write() as tx:
            pages, unused, page_bytes = (tx.execute(text(f"PRAGMA {name}")).scalar_one() for name in names)
            return float((pages - unused) * page_bytes)
    with opened.store.read() as connection:
        sizes = []
        for table in TABLES:
            connection.execute(text(f"VACUUM FULL {table}"))
            sizes.append(connection.execute(text(f"SELECT pg_total_relation_size('{table}')")).scalar_one())
    return float(sum(sizes))


def _redis(bench: Bench) -> Iterator[Figure]:
    """Most runs in motion wait for a thread, each with a message in the queue; queued ones have nothing in Redis."""
    hot = 200 if bench.quick else 2_000
    with rig(bench.servers, "postgres", 0, HOT_SET=str(hot)) as opened, bench.servers.redis.client() as client:
        opened.worker(THINK, "threads", 4)
        bench.servers.model.set(latency_s=300.0)
        before = _redis_bytes(client)
        opened.submit(hot)
        wait_until("all are admitted", lambda: int(client.llen("think")) >= hot - 10, 60)
        admitted = _redis_bytes(client)
        opened.submit(hot)
        opened.submit(hot)
        queued = _redis_bytes(client)
    yield Figure(SECTION, "Redis: an admitted run that waits", (admitted - before) / hot, "bytes")
    yield Figure(SECTION, "Redis: a queued run", (queued - admitted) / hot / 2, "bytes", goal="0")


def _redis_bytes(client: Redis) -> int:
    """Of all keys, exactly."""
    return sum(int(client.memory_usage(key, samples=0) or 0) for key in client.scan_iter())
