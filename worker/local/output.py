"""The services' output: on the console, with the service's name on each line, and in rotating files."""

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
    """Prints lines from several threads one at a time, until its output is closed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream: TextIO | None = stream
        self._coloured = stream.isatty() and "NO_COLOR" not in os.environ
        self._colours: dict[str, int] = {}
        self._width = 0
        self._lock = threading.Lock()

    def introduce(self, names: list[str]) -> None:
        """Assigns each name a colour and makes the name column wide enough."""
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
                # The pipe's reader has gone, or the terminal was closed; the log files still get everything.
                self._stream = None


class LogFile:
    """Appends lines to `path`, and starts a new file when it has grown large."""

    def __init__(self, path: Path, max_bytes: int = MAX_LOG_BYTES) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._handler = RotatingFileHandler(path, maxBytes=max_bytes, backupCount=KEPT_LOGS, encoding="utf-8")

    def line(self, text: str) -> None:
        self._handler.handle(logging.makeLogRecord({"msg": text}))

    def close(self) -> None:
        self._handler.close()
