"""Scripts that do the same work with other libraries, from a folder and a Python that the caller names."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.bench.servers import ROOT, Servers

AT_ONCE = 50
FOUND = re.compile(r"model_calls_per_s=([\d.]+)")


@dataclass(frozen=True)
class Peers:
    """Where the scripts are, and a Python in which their libraries are installed."""

    directory: Path
    python: str

    def runners(self, servers: Servers) -> dict[str, Callable[[int], float]]:
        """By name: does so many runs and returns model calls a second."""
        url = servers.model.base_url
        langgraph, dbos = servers.empty_database(), servers.empty_database()
        return {
            "LangGraph with PostgreSQL": lambda runs: self._run("langgraph_pg.py", url, runs, AT_ONCE, langgraph),
            "DBOS on PostgreSQL": lambda runs: self._run("dbos_pg.py", url, runs, 100, dbos),
            "the peers' plain loop": lambda runs: self._run("loop_asyncio.py", url, runs, AT_ONCE),
        }

    def _run(self, script: str, *arguments: object) -> float:
        argv = [self.python, str(self.directory / script), *map(str, arguments)]
        found = FOUND.search(output_of(argv, script))
        assert found, f"{script} printed no rate"
        return float(found.group(1))


def plain_loop(servers: Servers, runs: int) -> float:
    """Our own plain loop, in a process of its own; model calls a second."""
    argv = [sys.executable, "-m", "tests.bench.loop", servers.model.base_url, str(runs), str(AT_ONCE)]
    return float(output_of(argv, "the plain loop"))


def output_of(argv: list[str], what: str) -> str:
    """What a command prints; an error that shows its complaints where it fails."""
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600, cwd=ROOT, check=False)
    assert done.returncode == 0, f"{what} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout
