"""Runs one command so that none of its processes outlives the supervisor: `python child.py GRACE_S COMMAND…`.

Standard input is a pipe whose other end the supervisor holds. If the supervisor is killed, the pipe closes,
and this process stops the command and everything it started. Uses only the standard library, because one such process
runs beside each service.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

POLL_S = 1.0
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
NOT_STARTED = 127
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def main(argv: list[str]) -> int:
    grace_s, command = float(argv[0]), argv[1:]
    supervisor = os.getppid()
    wakeup = wake_on_signals()
    if LIBC:
        # Orphans of the command become children of this process, so that it can end them, daemons included.
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, process_group=0, preexec_fn=die_with_this_process())
    except OSError as error:
        print(f"cannot start {command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        return NOT_STARTED
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, lambda received, _frame: send(child.pid, received))
    try:
        return watch(child.pid, supervisor, wakeup, grace_s)
    finally:
        end_descendants(child.pid)


def wake_on_signals() -> int:
    """Returns a descriptor that becomes readable when a signal arrives, so one `select` covers signals and pipe."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reader


def die_with_this_process() -> Callable[[], None] | None:
    """Returns what runs between fork and exec: it makes the kernel kill the command if this process is killed."""
    libc = LIBC
    if libc is None:
        return None
    return lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def watch(child: int, supervisor: int, wakeup: int, grace_s: float) -> int:
    """Waits for the command to end, and stops it once the supervisor is gone. Returns the exit code to use."""
    kill_at: float | None = None
    inputs = [sys.stdin.fileno(), wakeup]
    while (code := reap(child)) is None:
        ready, _, _ = select.select(inputs, [], [], POLL_S if kill_at is None else 0.1)
        if wakeup in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(wakeup, 4096)
        if kill_at is None and (closed(ready) or os.getppid() != supervisor):
            inputs = [wakeup]
            kill_at = time.monotonic() + grace_s
            send(child, signal.SIGTERM)
        elif kill_at is not None and time.monotonic() >= kill_at:
            send(child, signal.SIGKILL)
    return code


def closed(ready: list[int]) -> bool:
    return sys.stdin.fileno() in ready and not os.read(sys.stdin.fileno(), 4096)


def reap(child: int) -> int | None:
    """Reaps ended processes, adopted ones too. Returns the command's exit code if it was among them."""
    code: int | None = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == child:
                ended = os.waitstatus_to_exitcode(status)
                code = ended if ended >= 0 else 128 - ended
    return code


def end_descendants(group: int) -> None:
    """Kills what the command left running: its process group, and on Linux every descendant."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    while children := children_of(os.getpid()):
        for pid in children:
            send(pid, signal.SIGKILL)
        reap(0)
        time.sleep(0.01)


def children_of(parent: int) -> list[int]:
    """Returns the children that still run. Deeper descendants become children as their parents end."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, ppid = stat.read_text(errors="replace").rpartition(")")[2].split()[:2]
            if int(ppid) == parent and state not in "ZX":
                found.append(int(stat.parent.name))
    return found


def send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
