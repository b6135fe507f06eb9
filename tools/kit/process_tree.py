"""Ends what a process has started, however deep."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import psutil


def descendants(pid: int | None = None) -> list[psutil.Process]:
    """The descendants of a process, of this one by default; none where it has ended."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def kill_descendants(pid: int | None = None) -> None:
    """Kills them all, without waiting. One that begins meanwhile may be missed."""
    kill(descendants(pid))


def kill(processes: Iterable[psutil.Process]) -> None:
    """Kills these, and takes it well if they have ended by themselves."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()
