"""Starts the stack in the background: runs the same command in a new session, and waits until it is ready."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from worker.local.errors import ServiceFailed, StackError
from worker.local.state import StackInfo, running_stack

POLL_S = 0.1
WRONG_USE = 2
"""Exit code of a refused command, which started nothing."""
_LEFT_RUNNING: list[subprocess.Popen[bytes]] = []
"""Kept because Python warns if a process object is dropped while its process runs."""


def start_detached(argv: Sequence[str], data_dir: Path, timeout_s: float = 180.0) -> StackInfo:
    """Runs `argv`, which must start a stack in `data_dir` in the foreground. Returns once the stack is ready.

    If the command ends before, raises an error with its last output: StackError if it was refused, else
    ServiceFailed. Also raises ServiceFailed, and stops the stack, if it is not ready in time.
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
    raise _ended(process.returncode, log)


def _ended(code: int, log: Path) -> StackError:
    """Returns the error and hint that the command printed, else its last two lines."""
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    hints = [line.removeprefix("Hint: ") for line in lines[-1:] if line.startswith("Hint: ")]
    said = lines[-1 - len(hints) :][:1] if hints else lines[-2:]
    message = " ".join(said).removeprefix("Error: ") or f"the stack ended with code {code}"
    kind = StackError if code == WRONG_USE else ServiceFailed
    return kind(message, hints[0] if hints else f"see {log.parent}")
