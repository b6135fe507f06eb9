"""Where the parts' output goes: the console, each line under its service's name, and files that rotate."""

from __future__ import annotations

import logging
import os
import threading
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TextIO

from worker.terminal import safe

COLOURS = (36, 33, 35, 32, 34, 96, 93, 95, 92, 94)
MAX_LOG_BYTES = 10_000_000
KEPT_LOGS = 3


class Console:
    """Lines from several threads, one at a time, until nobody reads them any more."""

    def __init__(self, stream: TextIO) -> None:
        self._stream: TextIO | None = stream
        self._coloured = stream.isatty() and "NO_COLOR" not in os.environ
        self._colours: dict[str, int] = {}
        self._width = 0
        self._lock = threading.Lock()

    def introduce(self, names: list[str]) -> None:
        """Gives each name its colour and makes the column wide enough."""
        self._width = max(map(len, names), default=0)
        self._colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}

    def line(self, name: str, text: str) -> None:
        label = f"{name:<{self._width}} |"
        if self._coloured:
            label = f"\x1b[{self._colours.get(name, 0)}m{label}\x1b[0m"
        with self._lock:
            if self._stream is None:
                return
            try:
                self._stream.write(f"{label} {safe(text)}\n")
                self._stream.flush()
            except (OSError, ValueError):
                # The reader of a pipe went away, or the terminal was closed: the files still have it all.
                self._stream = None


class LogFile:
    """Appends lines to `path`, moving on to a new file when it has grown large."""

    def __init__(self, path: Path, max_bytes: int = MAX_LOG_BYTES) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._handler = RotatingFileHandler(path, maxBytes=max_bytes, backupCount=KEPT_LOGS, encoding="utf-8")

    def line(self, text: str) -> None:
        self._handler.handle(logging.makeLogRecord({"msg": text}))

    def close(self) -> None:
        self._handler.close()
