"""Kills what a process has started, however deep."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import psutil


def descendants(pid: int | None = None) -> list[psutil.Process]:
    """Returns the descendants of a process, of this one by default; none if it has ended."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def kill_descendants(pid: int | None = None) -> None:
    """Kills all descendants, without waiting. May miss one that starts meanwhile."""
    kill(descendants(pid))


def kill(processes: Iterable[psutil.Process]) -> None:
    """Kills these processes; ignores those that have already ended."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()
