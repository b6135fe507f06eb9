"""Starts the stack in the background: the same command once more, in a session of its own, until it is ready."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from worker.local.errors import ServiceFailed
from worker.local.state import StackInfo, running_stack

POLL_S = 0.1
_LEFT_RUNNING: list[subprocess.Popen[bytes]] = []
"""Kept, since Python complains about a process object that is dropped while its process runs."""


def start_detached(argv: Sequence[str], data_dir: Path, timeout_s: float = 180.0) -> StackInfo:
    """Runs `argv`, which must start a stack in `data_dir` in the foreground; returns once that is ready.

    Raises ServiceFailed with the command's last words when it ends before, or is not ready in time and was stopped.
    """
    log = data_dir / "logs" / "detached.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
    deadline = time.monotonic() + timeout_s
    while process.poll() is None:
        info = running_stack(data_dir)
        if info and info.pid == process.pid and info.ready:
            _LEFT_RUNNING.append(process)
            return info
        if time.monotonic() > deadline:
            process.terminate()
            process.wait()
            raise ServiceFailed(f"the stack was not ready after {timeout_s:g} s", f"see {log.parent}")
        time.sleep(POLL_S)
    raise ServiceFailed(last_words(log) or f"the stack ended with code {process.returncode}", f"see {log.parent}")


def last_words(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return " ".join(lines[-2:])
