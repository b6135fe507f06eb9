"""Watches a child process: limits its output, and kills its whole tree on cancel, time-out or excess."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import psutil

from tools.kit.process_tree import descendants, kill
from tools.kit.resource_usage import held_bytes, locks, mappings

POLL_S = 0.1
_LOCKS, _MAPPINGS = 4096, 200_000


@dataclass(slots=True)
class Sink:
    """Collects bytes from a child up to a limit; reads and drops the rest, so that the child never blocks."""

    limit_bytes: int
    data: bytearray = field(default_factory=bytearray)
    dropped_bytes: int = 0

    def take(self, chunk: bytes) -> None:
        room = self.limit_bytes - len(self.data)
        self.data += chunk[:room]
        self.dropped_bytes += max(0, len(chunk) - room)


@dataclass(frozen=True, slots=True)
class TreeLimits:
    """Limits for a child and all its descendants together."""

    time_s: float
    memory_bytes: int
    processes: int


def watch(
    child: subprocess.Popen[bytes],
    sinks: Mapping[int, Sink],
    limits: TreeLimits,
    stopped: Callable[[], str | None],
) -> str | None:
    """Waits for the child's end, reading its descriptors into the sinks; kills the whole tree before returning.

    Returns None if it ended by itself, else why it was killed: what `stopped` said, `out of time`, `out of memory`,
    `too many processes`, `too many locks on files`, `too many memory mappings`.
    """
    ends_at = time.monotonic() + limits.time_s
    reason: str | None = None
    with selectors.DefaultSelector() as selector:
        for descriptor in sinks:
            os.set_blocking(descriptor, False)
            selector.register(descriptor, selectors.EVENT_READ)
        next_look = time.monotonic() + POLL_S
        while reason is None and (selector.get_map() or child.poll() is None):
            _read_ready(selector, sinks, min(POLL_S, max(0.0, next_look - time.monotonic())))
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + POLL_S
                reason = stopped() or _excess(child, limits, ends_at)
                if child.poll() is not None:
                    break  # an orphan may hold the pipes open for ever
        kill_tree(child)
        _drain(selector, sinks)
    return reason


@contextlib.contextmanager
def ended(child: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Kills the child's whole tree at the end of the block, also after an exception (such as a soft time limit)."""
    try:
        yield child
    finally:
        kill_tree(child)
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def _read_ready(selector: selectors.BaseSelector, sinks: Mapping[int, Sink], wait_s: float) -> None:
    if not selector.get_map():
        time.sleep(min(wait_s, 0.005))
        return
    for key, _ in selector.select(wait_s):
        chunk = os.read(key.fd, 65536)
        if chunk:
            sinks[key.fd].take(chunk)
        else:
            selector.unregister(key.fd)


def _drain(selector: selectors.BaseSelector, sinks: Mapping[int, Sink]) -> None:
    """Reads what was still in the pipes when the child ended."""
    for key in selector.get_map().values():
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(key.fd, 65536):
                sinks[key.fd].take(chunk)


def _excess(child: subprocess.Popen[bytes], limits: TreeLimits, ends_at: float) -> str | None:
    if time.monotonic() >= ends_at:
        return "out of time"
    tree = _tree(child)
    if len(tree) > limits.processes:
        return "too many processes"
    if sys.platform != "linux":
        return "out of memory" if sum(map(_resident_bytes, tree)) > limits.memory_bytes else None
    pids = [process.pid for process in tree]
    if held_bytes(pids) > limits.memory_bytes:
        return "out of memory"
    if locks(set(pids)) > _LOCKS:
        return "too many locks on files"
    return "too many memory mappings" if mappings(pids) > _MAPPINGS else None


def _resident_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def kill_tree(child: subprocess.Popen[bytes]) -> None:
    """Kills the child, its group and its descendants, and reaps it. Safe to repeat."""
    tree = _tree(child) if child.poll() is None else []
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    kill(tree)
    child.wait()


def _tree(child: subprocess.Popen[bytes]) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return [psutil.Process(child.pid), *descendants(child.pid)]
    return []
