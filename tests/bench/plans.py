"""Rows and pages visited with 1,000 and 1,000,000 queued runs, with a paused batch ahead, under an old snapshot."""

from __future__ import annotations

import time
from collections.abc import Iterator

from sqlalchemy import text

from tests.bench.backlog import churn, fill, old_snapshot, visits
from tests.bench.bench import Bench
from tests.bench.report import Figure
from tests.bench.rows_visited import Visited
from worker.store.control import pause_batch
from worker.store.session import Store, open_store

FEW = 1_000


def measure(bench: Bench) -> Iterator[Figure]:
    """Each situation in a database of its own."""
    many = 50_000 if bench.quick else 1_000_000
    for name, url, batch_id, store in _situations(bench, many):
        found = visits(store, batch_id)
        bench.say(f"{name}: {found}")
        yield from _figures(name, found)
        if name.startswith("under"):
            with old_snapshot(url):
                for _ in range(10):
                    churn(store, many // 100)
                yield from _figures(
                    f"{name}, an old snapshot held, {many // 10:,} runs ended since", visits(store, batch_id)
                )
        store.dispose()


def _situations(bench: Bench, many: int) -> Iterator[tuple[str, str, str, Store]]:
    for name, paused, queued in (
        (f"{FEW:,} queued", 0, FEW),
        (f"{many:,} queued", 0, many),
        (f"{many * 9 // 10:,} in a paused batch ahead of {many // 10:,}", many * 9 // 10, many // 10),
        (f"under load, {many:,} queued", 0, many),
    ):
        url = bench.servers.database("postgres")
        store = open_store(url)
        began = time.perf_counter()
        if paused:
            pause_batch(store, fill(store, paused))
        batch_id = fill(store, queued)
        with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))
        bench.say(f"{name}: made in {time.perf_counter() - began:.1f} s")
        yield name, url, batch_id, store


def _figures(name: str, found: dict[str, Visited]) -> Iterator[Figure]:
    for work, visited in found.items():
        yield Figure(f"rows and pages visited: {name}", work, visited.rows, "rows", goal=f"{visited.pages:,} pages")
