"""Loaded by workers as a tool module: tools to be interrupted, and the fault that strikes at a named point.

`STEPMILL_TEST_FAULT` is JSON: `{"point", "nth", "do": "kill" | "freeze" | "hold", "once": FILE}`. The fault strikes
when a process reaches the point for the nth time; `once`: for one process only, over restarts; `hold` waits until the
file `once` + ".go" is there.

`STEPMILL_TEST_CLOCK` names a file that holds by how many seconds this process's wall clock is off; it may jump.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

import worker.faults
from tools.base import ToolContext, ToolError, tool


class Fault:
    """One fault, armed in this process."""

    def __init__(self, point: str, do: str, once: str, nth: int = 1) -> None:
        self._point, self._do, self._once, self._nth = point, do, Path(once), nth
        self._lock = threading.Lock()

    def __call__(self, point: str) -> None:
        if point != self._point:
            return
        with self._lock:
            self._nth -= 1
            if self._nth != 0 or not self._first():
                return
        if self._do == "hold":
            while not Path(f"{self._once}.go").exists():
                time.sleep(0.02)
        else:
            os.kill(os.getpid(), signal.SIGKILL if self._do == "kill" else signal.SIGSTOP)

    def _first(self) -> bool:
        """True for one process only, which leaves its pid in the file."""
        try:
            with self._once.open("x") as mark:
                mark.write(str(os.getpid()))
        except FileExistsError:
            return False
        return True


if "STEPMILL_TEST_FAULT" in os.environ:
    worker.faults.hook = Fault(**json.loads(os.environ["STEPMILL_TEST_FAULT"]))


class WrongClock:
    """Stands for `time.time`: the machine's, off by what the file says at the moment."""

    LOOK_EVERY_S = 0.05

    def __init__(self, file: Path) -> None:
        self._file = file
        self._true, self._true_ns = time.time, time.time_ns
        self._off_s, self._looked_at = 0.0, float("-inf")

    def install(self) -> None:
        time.time, time.time_ns = self.time, self.time_ns

    def time(self) -> float:
        return self._true() + self._off()

    def time_ns(self) -> int:
        return self._true_ns() + int(self._off() * 1e9)

    def _off(self) -> float:
        if time.monotonic() - self._looked_at > self.LOOK_EVERY_S:
            self._looked_at = time.monotonic()
            text = self._file.read_text() if self._file.exists() else ""
            self._off_s = float(text) if text else 0.0
        return self._off_s


if "STEPMILL_TEST_CLOCK" in os.environ:
    WrongClock(Path(os.environ["STEPMILL_TEST_CLOCK"])).install()

_LOOPBACK = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def _count(key: str, context: ToolContext) -> None:
    request = urllib.request.Request(f"{context.settings['STEPMILL_TOOL_COUNTER']}/{key}", b"", method="POST")
    with _LOOPBACK.open(request, timeout=10):
        pass


@tool(group="test", timeout_s=20)
def count_up(name: str, context: ToolContext) -> str:
    """Count something up. Must not be repeated.

    Args:
        name: what to count
    """
    _count(context.idempotency_key, context)
    return f"counted {name}"


@tool(group="test", idempotent=True, timeout_s=20)
def look_up(name: str) -> str:
    """Look something up; harmless to repeat.

    Args:
        name: what to look up
    """
    return f"{name} is known"


@tool(group="test", idempotent=True, timeout_s=20)
def recite(words: int) -> str:
    """Say a long text.

    Args:
        words: how many words
    """
    return " ".join(f"word-{number}" for number in range(1, words + 1))


@tool(group="test", idempotent=True, timeout_s=20)
def keep(kilobytes: int, context: ToolContext) -> str:
    """Keep a file.

    Args:
        kilobytes: how large
    """
    return context.artifacts.save("kept.bin", b"x" * 1024 * kilobytes, "application/octet-stream").name


@tool(group="slow", idempotent=True, timeout_s=600)
def nap(seconds: float, context: ToolContext) -> str:
    """Sleep, and heed being cancelled.

    Args:
        seconds: how long
    """
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if context.cancelled():
            raise ToolError("woken up", retryable=False)
        time.sleep(0.02)
    return "rested"


@tool(group="slow", idempotent=True, timeout_s=600)
def doze(seconds: float) -> str:
    """Sleep deeply, and heed nothing.

    Args:
        seconds: how long
    """
    time.sleep(seconds)
    return "rested"


@tool(group="slow", timeout_s=600)
def compute(seconds: float, context: ToolContext) -> str:
    """Work without a pause, which must not be repeated.

    Args:
        seconds: how long
    """
    _count(context.idempotency_key, context)
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        sum(range(1000))
    return "worked"


@tool(group="deadly", idempotent=True, timeout_s=600)
def linger(seconds: float) -> str:
    """Sleep deeply, in a group of its own.

    Args:
        seconds: how long
    """
    time.sleep(seconds)
    return "rested"


@tool(group="deadly", idempotent=True, timeout_s=600)
def linger_in_child(seconds: float) -> str:
    """Have a process of its own sleep, in a group of its own.

    Args:
        seconds: how long
    """
    subprocess.run(["sleep", str(seconds)], check=True)
    return "rested"


@tool(group="deadly", idempotent=True, timeout_s=20)
def die(name: str) -> str:
    """End the process that runs this.

    Args:
        name: whatever
    """
    os.kill(os.getpid(), signal.SIGKILL)
    return f"{name} survived"


@tool(group="deadly", idempotent=True, timeout_s=20)
def leave(how: str) -> str:
    """End as programs and scopes do.

    Args:
        how: exit, parser, cancel or interrupt
    """
    if how == "parser":
        argparse.ArgumentParser(prog="leave").parse_args(["--now"])
    raise {"cancel": asyncio.CancelledError, "interrupt": KeyboardInterrupt}.get(how, SystemExit)("on purpose")


@tool(group="deadly", idempotent=True, timeout_s=20)
def live_on(name: str) -> str:
    """Answer.

    Args:
        name: whatever
    """
    return f"{name} lives"
