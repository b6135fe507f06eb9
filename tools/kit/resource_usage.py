"""Counts what a process tree makes the kernel hold: memory, sockets, locks, mappings."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

_COUNTED = ("VmRSS:", "VmSwap:", "VmPTE:")
_DEFAULT_SOCKET_BYTES = 212_992
_HOLDER = re.compile(rb" (\d+) [0-9a-f]+:[0-9a-f]+:\d+ ")
_LISTING_BYTES = 4 * 2**20


def held_bytes(pids: Sequence[int]) -> int:
    """Returns the bytes that the processes hold together. Shared pages count once per process."""
    return sum(map(_process_bytes, pids)) + sockets(pids) * _socket_bytes()


def _process_bytes(pid: int) -> int:
    """Returns the bytes of a process, or of a thread that lives on after its main thread has ended."""
    counted = _counted_bytes(f"/proc/{pid}")
    if counted is None:
        threads = (_counted_bytes(f"/proc/{pid}/task/{thread}") for thread in _listed(f"/proc/{pid}/task"))
        return next((found for found in threads if found is not None), 0)
    return counted


def _listed(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _counted_bytes(entry: str) -> int | None:
    """Returns None if the process has no memory: it ended."""
    try:
        lines = Path(entry, "status").read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    kib = [int(line.split()[1]) for line in lines if line.startswith(_COUNTED)]
    return sum(kib) * 1024 if kib else None


def sockets(pids: Sequence[int]) -> int:
    """Counts Unix sockets in the tree's own network namespace, also those in transit; 0 if it has none."""
    ours = _network(os.getpid())
    for pid in reversed(pids):  # the innermost process comes last
        theirs = _network(pid)
        if theirs is not None and theirs != ours:
            return max(0, _start_of(f"/proc/{pid}/net/unix").count(b"\n") - 1)
    return 0


def _network(pid: int) -> int | None:
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except OSError:
        return None


def _socket_bytes() -> int:
    """Returns what a socket can hold: its buffer, and one message that still began to fit."""
    default = _start_of("/proc/sys/net/core/wmem_default")
    return max(_DEFAULT_SOCKET_BYTES, int(default or 0)) * 3 // 2


def locks(pids: Collection[int]) -> int:
    """Counts file locks that the processes hold or wait for."""
    return sum(int(holder) in pids for holder in _HOLDER.findall(_start_of("/proc/locks")))


def mappings(pids: Iterable[int]) -> int:
    """Counts memory mappings; the kernel keeps a record of each, however small it is."""
    return sum(_start_of(f"/proc/{pid}/maps").count(b"\n") for pid in pids)


def _start_of(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read(_LISTING_BYTES)
    except OSError:
        return b""
