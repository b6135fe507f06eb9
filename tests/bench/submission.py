"""Rows a second from a client's file to the database, over the API, and what the API's memory does meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import orjson

from tests.bench.bench import Bench
from tests.bench.report import Figure, median_of
from tests.bench.rig import Rig, rig

SECTION = "submission over the API, JSONL"
LINES_A_CHUNK = 1_000


def measure(bench: Bench) -> Iterator[Figure]:
    """No worker runs: what is measured is taking questions in."""
    for number, kind in enumerate(("postgres", "sqlite")):
        with rig(bench.servers, kind, number) as opened:
            _submit(opened, 10)
            small = [100 / _submit(opened, 100) for _ in range(len(bench.rounds()) * 3)]
            yield median_of(SECTION, f"{kind}: 100 questions", small, "rows/s")
            many = 10_000 if bench.quick else 100_000
            before_mb = opened.api_rss_mb
            times, peaks = [], []
            for _ in bench.rounds():
                took_s, peak_mb = _watched(opened, many)
                times.append(took_s)
                peaks.append(peak_mb)
                bench.say(f"{kind}: {many} questions in {took_s:.2f} s, {peak_mb:.0f} MB at most")
            yield median_of(SECTION, f"{kind}: {many:,} questions", [many / one for one in times], "rows/s")
            yield median_of(SECTION, f"{kind}: {many:,} questions, time", times, "s", "under 10")
            yield Figure(SECTION, f"{kind}: memory of the API before", before_mb, "MB")
            yield median_of(SECTION, f"{kind}: memory of the API meanwhile, at most", peaks, "MB", "flat")


def _lines(count: int) -> Iterator[bytes]:
    for first in range(0, count, LINES_A_CHUNK):
        numbers = range(first, min(first + LINES_A_CHUNK, count))
        yield b"".join(
            orjson.dumps({"custom_id": f"q-{n}", "question": f"What is {n} times 37, minus 12?"}) + b"\n"
            for n in numbers
        )


def _submit(opened: Rig, count: int) -> float:
    began = time.perf_counter()
    headers = {"content-type": "application/x-ndjson"}
    answer = opened.http.post("/api/batches", content=_lines(count), headers=headers)
    took_s = time.perf_counter() - began
    assert answer.is_success and answer.json()["taken"] == count, answer.text
    return took_s


def _watched(opened: Rig, count: int) -> tuple[float, float]:
    """Seconds, and the most memory that the API was seen with."""
    done = threading.Event()
    seen: list[float] = []

    def watch() -> None:
        while not done.wait(0.05):
            seen.append(opened.api_rss_mb)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        took_s = _submit(opened, count)
    finally:
        done.set()
        watcher.join()
    return took_s, max(seen, default=opened.api_rss_mb)
