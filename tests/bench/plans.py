"""Rows and pages visited with 1,000 and 1,000,000 queued runs, with a paused batch ahead, under an old snapshot."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import text

from tests.bench.backlog import churn, fill, old_snapshot, visits
from tests.bench.bench import Bench
from tests.bench.report import Figure
from tests.bench.rows_visited import Visited
from worker.store.control.stopping import pause_batch
from worker.store.opening import open_store
from worker.store.session import Store

FEW = 1_000


def measure(bench: Bench) -> Iterator[Figure]:
    """Each situation in a database of its own."""
    many = 50_000 if bench.quick else 1_000_000
    with _backlog(bench, FEW) as (few, _, batch_id):
        yield from _figures(f"{FEW:,} queued", visits(few, batch_id))
    with _backlog(bench, many // 10, paused=many * 9 // 10) as (store, _, batch_id):
        name = f"{many * 9 // 10:,} in a paused batch ahead of {many // 10:,}"
        yield from _figures(name, visits(store, batch_id))
    with _backlog(bench, many) as (store, url, batch_id):
        yield from _figures(f"{many:,} queued", visits(store, batch_id))
        with old_snapshot(url):
            for _ in range(10):
                churn(store, many // 100)
            name = f"{many:,} queued, an old snapshot held while {many // 10:,} runs ended"
            yield from _figures(name, visits(store, batch_id))


@contextmanager
def _backlog(bench: Bench, queued: int, paused: int = 0) -> Iterator[tuple[Store, str, str]]:
    """A store, its URL, and the id of a batch of so many queued runs, behind a paused one."""
    url = bench.servers.database("postgres")
    store = open_store(url)
    began = time.perf_counter()
    if paused:
        pause_batch(store, fill(store, paused))
    batch_id = fill(store, queued)
    with store.read() as connection:
        connection.execute(text("VACUUM ANALYZE"))
    bench.say(f"{paused + queued:,} runs made in {time.perf_counter() - began:.1f} s")
    yield store, url, batch_id
    store.dispose()


def _figures(name: str, found: dict[str, Visited]) -> Iterator[Figure]:
    for work, visited in found.items():
        besides = f"{visited.pages:,} pages, {visited.ms:.1f} ms"
        yield Figure(f"rows and pages visited: {name}", work, visited.rows, "rows", goal=besides)
