"""Reads the files that a program left, within limits, without following links that it may have made."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Any

_DEPTH = 4


def collect(box: str, limits: dict[str, Any]) -> tuple[list[tuple[str, bytes]], list[str]]:
    """Returns the regular files with their paths in the box, and the names of those left out."""
    files: list[tuple[str, bytes]] = []
    left_out: list[str] = []
    room = int(limits["files_size"])
    for name in _names(box, "", _DEPTH):
        data = _read(os.path.join(box, name), room) if len(files) < limits["files"] else None
        if data is None:
            left_out.append(name)
        else:
            files.append((name, data))
            room -= len(data)
    return files, left_out[:50]


def _names(directory: str, prefix: str, depth: int) -> Iterator[str]:
    """Yields names, oldest first; skips hidden names, caches and everything that is not a regular file."""
    try:
        entries = sorted(
            os.scandir(directory), key=lambda entry: (entry.stat(follow_symlinks=False).st_mtime_ns, entry.name)
        )
    except OSError:
        return  # made unreadable by the program
    for entry in entries:
        if entry.name.startswith(".") or entry.name == "__pycache__":
            continue
        if entry.is_dir(follow_symlinks=False) and depth > 1:
            yield from _names(entry.path, f"{prefix}{entry.name}/", depth - 1)
        elif entry.is_file(follow_symlinks=False):
            yield prefix + entry.name


def _read(path: str, room: int) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > room:
            return None
        data = stream.read(room + 1)
    return data if len(data) <= room else None
