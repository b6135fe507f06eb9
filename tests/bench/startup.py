"""Measures how long a command, the imports and a worker take to start."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from tests.bench.bench import Bench
from tests.bench.report import Figure, median_of
from tests.bench.rig import STEPMILL, THINK, TOOLS, rig
from tests.bench.servers import ROOT

SECTION = "start"


def measure(bench: Bench) -> Iterator[Figure]:
    """Medians of whole processes, files in the page cache."""
    commands: dict[str, Sequence[str]] = {
        "python itself": [sys.executable, "-c", "pass"],
        "stepmill --help": [str(STEPMILL), "--help"],
        "import of what a worker needs": [sys.executable, "-c", "import worker.fleet.process"],
        "import of what the API needs": [sys.executable, "-c", "import api.app"],
    }
    for name, argv in commands.items():
        _seconds(argv)
        yield median_of(SECTION, name, [_seconds(argv) for _ in bench.rounds()], "s")
    with rig(bench.servers, "postgres") as opened:
        for name, queues, pool in (("think", THINK, "threads"), ("tool", TOOLS, "prefork")):
            times = []
            for _ in bench.rounds():
                worker = opened.worker(queues, pool, 2)
                times.append(worker.started_s)
                opened.drop(worker)
            yield median_of(SECTION, f"a {name} worker, until it is ready", times, "s")


def _seconds(argv: Sequence[str]) -> float:
    began = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    return time.perf_counter() - began
