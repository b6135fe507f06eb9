"""Measures the engine's own delays, from the model server's clock and the stored attempts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sqlalchemy import select

from tests.bench.bench import Bench
from tests.bench.report import Figure, percentiles
from tests.bench.rig import THINK, TOOLS, Rig, rig
from worker.store.schema.tables import attempts, runs

LATENCY_S = 0.05
CALLS_A_RUN = 4
GOALS = {"submission to first call": "p50 under 30", "reply to tool start": "p50 under 15"}


@dataclass
class Waits:
    """Milliseconds, by what was waited for."""

    of: dict[str, list[float]] = field(
        default_factory=lambda: {
            "submission to first call": [], "reply to tool start": [], "observation to next call": [],
        }
    )  # fmt: skip

    def add(self, name: str, began: float, ended: float) -> None:
        self.of[name].append((ended - began) * 1000)

    def figures(self, section: str) -> Iterator[Figure]:
        for name, values in self.of.items():
            yield from percentiles(section, name, values, "ms", GOALS.get(name, "") if "idle" in section else "")


def measure(bench: Bench) -> Iterator[Figure]:
    """One interactive run at a time; then runs that arrive at half the rate that the stack can do."""
    with rig(bench.servers, "postgres") as opened:
        opened.worker(THINK, "threads", 16)
        opened.worker(TOOLS, "prefork", 1)
        bench.servers.model.set()
        opened.finish(opened.submit(20))
        full = 100 if bench.quick else 300
        runs_per_s = full / opened.finish(opened.submit(full))
        bench.say(f"at full load {runs_per_s:.1f} runs a second")
        idle, count = "idle, PostgreSQL", 10 if bench.quick else 100
        yield from _observed(bench, opened, lambda: _one_by_one(opened, count)).figures(idle)
        seconds = 5.0 if bench.quick else 20.0
        busy = f"half load, PostgreSQL ({runs_per_s / 2:.0f} runs/s arrive one by one)"
        yield from _observed(bench, opened, lambda: _steady(opened, runs_per_s / 2, seconds)).figures(busy)


def _observed(bench: Bench, opened: Rig, work: Callable[[], dict[str, float]]) -> Waits:
    """Does the work, which returns when each run was submitted, and reads the waits from what was written."""
    bench.servers.model.set(latency_s=LATENCY_S)
    submitted = work()
    served = bench.servers.model.calls()
    waits = Waits()
    query = select(attempts).where(attempts.c.run_id.in_(list(submitted))).order_by(attempts.c.claimed_at)
    before: dict[str, float] = {}  # of each run: when what comes next became possible
    for row in opened.rows(query):
        if row.call:
            waits.add("reply to tool start", before[row.run_id], row.claimed_at)
            before[row.run_id] = row.ended_at
            continue
        received, sent = served[row.token]
        if row.step == 1:
            waits.add("submission to first call", submitted[row.run_id], received)
        else:
            waits.add("observation to next call", before[row.run_id], received)
        before[row.run_id] = sent
    return waits


def _one_by_one(opened: Rig, count: int) -> dict[str, float]:
    submitted = {}
    for _ in range(count):
        at = time.time()
        run_id = opened.ask()
        submitted[run_id] = at
        _await(opened, [run_id])
    return submitted


def _steady(opened: Rig, per_s: float, seconds: float) -> dict[str, float]:
    """Submits at a fixed rate, however long the answers take."""
    submitted: dict[str, float] = {}
    threads = []

    def ask() -> None:
        at = time.time()
        submitted[opened.ask()] = at

    began = time.monotonic()
    for number in range(int(per_s * seconds)):
        time.sleep(max(0.0, began + number / per_s - time.monotonic()))
        threads.append(threading.Thread(target=ask))
        threads[-1].start()
    for thread in threads:
        thread.join()
    _await(opened, list(submitted))
    return submitted


def _await(opened: Rig, run_ids: list[str]) -> None:
    """Polls slowly: the waiting must not be what is measured."""
    query = select(runs.c.id).where(runs.c.id.in_(run_ids), runs.c.finished_at.is_(None))
    deadline = time.monotonic() + 120
    while opened.rows(query):
        assert time.monotonic() < deadline, "runs did not end"
        time.sleep(0.1)
