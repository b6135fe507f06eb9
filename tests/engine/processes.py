"""Worker processes for tests: forked from a nursery, killed, frozen, their output read."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.services.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]


class Nursery:
    """Forks workers; one for each test process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        argv = [sys.executable, "-m", "tests.engine.nursery"]
        self._process = subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def fork(self, order: Mapping[str, Any]) -> int:
        assert self._process.stdin is not None and self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            return int(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=20)
        self._process.stdout.close()


@dataclass
class Worker:
    """A worker process."""

    pid: int
    log: Path
    clock: Path
    """By how many seconds its wall clock is off; see `tests.faults.hooks`."""

    def set_clock_off(self, seconds: float) -> None:
        self.clock.write_text(str(seconds))

    @property
    def ready(self) -> bool:
        assert self.alive, f"the worker ended at its start:\n{self.output()}"
        return " is ready: " in self.output()

    @property
    def alive(self) -> bool:
        try:
            return psutil.Process(self.pid).status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    def output(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL, as the kernel does it when memory runs out."""
        if self.alive:
            self.signal(signal.SIGKILL)
        wait_until("a killed worker is gone", lambda: not self.alive)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def children(self) -> list[psutil.Process]:
        """Its pool's processes, without billiard's own helper."""
        found = psutil.Process(self.pid).children()
        return [child for child in found if "spawn_main" in " ".join(child.cmdline())]


def family(pid: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(pid)
        return [*process.children(recursive=True), process]
    except psutil.NoSuchProcess:
        return []


def lives(process: psutil.Process) -> bool:
    """Whether a process still runs: one that has ended and was not asked for its end does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
