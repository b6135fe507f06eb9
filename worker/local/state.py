"""The state file of a running stack: its supervisor and its addresses. It is valid only while its lock is held."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TextIO

import psutil

from worker.local.errors import AlreadyRunning, StackError

STATE_FILE = "stack.json"
LOCK_FILE = "stack.lock"
POLL_S = 0.05
HARD_STOP_S = 10.0
LOCK_PATIENCE_S = 0.5


@dataclass(frozen=True, slots=True)
class StackInfo:
    """`addresses` are URLs for people; `environment` is what a process needs to join, secrets included."""

    pid: int
    started_at: float
    ready: bool = False
    practice: bool = False
    addresses: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    log_dir: str = ""

    def is_alive(self) -> bool:
        """Returns whether that process still runs, and not another one with its reused pid."""
        try:
            process = psutil.Process(self.pid)
            is_same = abs(process.create_time() - self.started_at) < 1.0
            return is_same and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False


def own_info() -> StackInfo:
    return StackInfo(pid=os.getpid(), started_at=psutil.Process().create_time())


@contextlib.contextmanager
def supervising(data_dir: Path) -> Iterator[None]:
    """Holds the directory's lock. Raises AlreadyRunning, naming the stack that runs there."""
    data_dir.mkdir(parents=True, exist_ok=True)
    with (data_dir / LOCK_FILE).open("w") as lock:
        if not lock_within(lock, LOCK_PATIENCE_S):
            raise already_running(data_dir)
        write_info(data_dir, own_info())
        try:
            yield
        finally:
            (data_dir / STATE_FILE).unlink(missing_ok=True)


def lock_within(lock: TextIO, timeout_s: float) -> bool:
    """Takes the lock. Waits briefly, because a process that checks for a running stack holds it for an instant."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_S)
        else:
            return True


def already_running(data_dir: Path) -> AlreadyRunning:
    info = read_info(data_dir)
    where = ", ".join(f"{name} {url}" for name, url in info.addresses.items()) if info else ""
    who = f" (pid {info.pid}{'; ' + where if where else ''})" if info else ""
    return AlreadyRunning(f"a stack runs already in {data_dir}{who}", "`stepmill down` stops it")


def write_info(data_dir: Path, info: StackInfo) -> None:
    """Replaces the state file atomically; only its owner can read it, since it contains the Redis password."""
    new = data_dir / f"{STATE_FILE}.new"
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(asdict(info), file, indent=2)
    new.replace(data_dir / STATE_FILE)


def read_info(data_dir: Path) -> StackInfo | None:
    """Returns the content of the state file, valid or not; None if there is none."""
    try:
        return StackInfo(**json.loads((data_dir / STATE_FILE).read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise StackError(
            f"{data_dir / STATE_FILE} cannot be read: {error}", "remove it if no stack runs here"
        ) from error


def running_stack(data_dir: Path) -> StackInfo | None:
    """Returns the stack that runs in this directory, ready or still starting, or None."""
    info = read_info(data_dir) if is_locked(data_dir) else None
    return info if info and info.is_alive() else None


def is_locked(data_dir: Path) -> bool:
    try:
        with (data_dir / LOCK_FILE).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def down(data_dir: Path, timeout_s: float = 60.0) -> bool:
    """Stops the stack of this directory and waits until all its processes have ended. Returns False if none ran."""
    info = running_stack(data_dir)
    if info is None:
        return False
    parts = family(info)
    signal_stack(info, signal.SIGTERM)
    if not ended_within(info, timeout_s):
        # Its services notice that it is gone and end themselves.
        signal_stack(info, signal.SIGKILL)
        psutil.wait_procs(parts, timeout=HARD_STOP_S)
    return True


def family(info: StackInfo) -> list[psutil.Process]:
    """Returns the supervisor's process and all its descendants."""
    try:
        supervisor = psutil.Process(info.pid)
        return [supervisor, *supervisor.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def signal_stack(info: StackInfo, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(info.pid, number)


def ended_within(info: StackInfo, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while info.is_alive() and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return not info.is_alive()
