"""Model calls that take seconds, as real ones do: how near a batch comes to its ideal, and what one process holds."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench.bench import Bench
from tests.bench.report import Figure, median_of
from tests.bench.rig import THINK, TOOLS, Rig, rig
from tests.services.waiting import wait_until

SECTION = "latency 1 s, 400 runs of 4 calls, 100 slots, ideal 16 s"
HELD = "300 model calls in flight in one think worker process"
SLOTS, CALLS_A_RUN, LATENCY_S = 100, 4, 1.0


def measure(bench: Bench) -> Iterator[Figure]:
    """Both databases in turn."""
    count = 100 if bench.quick else 400
    ideal_s = count * CALLS_A_RUN * LATENCY_S / SLOTS
    for number, kind in enumerate(("postgres", "sqlite")):
        with rig(bench.servers, kind, number) as opened:
            opened.worker(THINK, "threads", SLOTS)
            opened.worker(TOOLS, "prefork", 1)
            bench.servers.model.set()
            opened.finish(opened.submit(20))
            bench.servers.model.set(latency_s=LATENCY_S)
            shares = []
            for _ in bench.rounds():
                took_s = opened.finish(opened.submit(count))
                shares.append(took_s / ideal_s)
                bench.say(f"{kind}: {took_s:.2f} s, ideal {ideal_s:g} s")
        yield median_of(SECTION, f"{kind}: wall time / ideal", shares, "×", "at most 1.08")
    yield from _held(bench)


def _held(bench: Bench) -> Iterator[Figure]:
    with rig(bench.servers, "postgres") as opened:
        think = opened.worker(THINK, "threads", 300)
        tools = opened.worker(TOOLS, "prefork", 2)
        yield Figure(HELD, "memory of the worker when it has started", think.rss_mb, "MB")
        bench.servers.model.set(latency_s=20.0, calls=0)
        batch = opened.submit(300)
        model = bench.servers.model
        wait_until("300 calls are in flight", lambda: model.counts()["in_flight"] >= 300, 60)
        yield Figure(HELD, "calls in flight at once", model.counts()["in_flight"], "calls")
        yield Figure(HELD, "memory of that worker process", think.rss_mb, "MB", goal="under 250")
        yield from _others(opened, tools.rss_mb, sum(child.memory_info().rss for child in tools.children()) / 2e6)
        opened.finish(batch)
        yield Figure(HELD, "memory of that worker process afterwards", think.rss_mb, "MB")


def _others(opened: Rig, tools_mb: float, child_mb: float) -> Iterator[Figure]:
    yield Figure(HELD, "memory of the tool worker's parent", tools_mb, "MB")
    yield Figure(HELD, "memory of each of its 2 pool processes", child_mb, "MB")
    yield Figure(HELD, "memory of the API", opened.api_rss_mb, "MB")
