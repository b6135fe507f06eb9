"""Two think workers against one: with a slow model, and limited only by the machine's cores."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench.bench import Bench
from tests.bench.report import Figure, median_of
from tests.bench.rig import THINK, TOOLS, Rig, rig

SECTION = "two think workers / one, 4 threads each, PostgreSQL"


def measure(bench: Bench) -> Iterator[Figure]:
    """Pairs in turn: the second worker comes and goes."""
    count = 40 if bench.quick else 200
    ratios: dict[float, list[float]] = {0.0: [], 0.1: []}
    with rig(bench.servers, "postgres") as opened:
        opened.worker(THINK, "threads", 4)
        opened.worker(TOOLS, "prefork", 1)
        bench.servers.model.set()
        opened.finish(opened.submit(20))
        for _ in bench.rounds():
            alone = {latency: _took_s(bench, opened, latency, count) for latency in ratios}
            second = opened.worker(THINK, "threads", 4)
            for latency, values in ratios.items():
                values.append(alone[latency] / _took_s(bench, opened, latency, count))
            opened.drop(second)
            bench.say(", ".join(f"at {latency:g} s: {values[-1]:.2f}" for latency, values in ratios.items()))
    yield median_of(SECTION, "model latency 0: the two cores are the limit", ratios[0.0], "×")
    yield median_of(SECTION, "model latency 0.1 s: the threads are the limit", ratios[0.1], "×", "near 2")


def _took_s(bench: Bench, opened: Rig, latency_s: float, count: int) -> float:
    bench.servers.model.set(latency_s=latency_s)
    return opened.finish(opened.submit(count))
