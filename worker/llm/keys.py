"""Where API keys come from, looked up at each call so that a new key counts without a restart."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dotenv import dotenv_values

KEYS_DIR_VARIABLE = "STEPMILL_KEYS_DIR"


@dataclass(frozen=True, slots=True)
class _Stamp:
    """What changes when a file is written anew, or replaced as mounted secrets are."""

    mtime_ns: int
    size: int
    inode: int


class _WatchedFile:
    """The values of a file, read again once it changed."""

    def __init__(self, path: Path, read: Callable[[Path], Mapping[str, str | None]]) -> None:
        self._path = path
        self._read = read
        self._lock = threading.Lock()
        self._stamp: _Stamp | None = None
        self._values: Mapping[str, str | None] = {}

    def get(self, name: str) -> str | None:
        with self._lock:
            stamp = self._look()
            if stamp != self._stamp:
                self._values = self._read(self._path) if stamp else {}
                self._stamp = stamp
            return self._values.get(name)

    def _look(self) -> _Stamp | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return _Stamp(found.st_mtime_ns, found.st_size, found.st_ino)


class KeySource:
    """Finds the key that a variable names.

    First the file of that name in the directory `STEPMILL_KEYS_DIR` (how secrets are mounted), then the environment,
    then the `.env` file. The two files may change while the process runs. Keys are never part of a repr.
    """

    def __init__(self, env_file: Path | None = None, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ
        self._env_file = _WatchedFile(env_file or Path(".env"), lambda path: dotenv_values(path, interpolate=False))
        self._files: dict[str, _WatchedFile] = {}

    def key(self, variable: str) -> str | None:
        """None where nothing, or only white space, is set."""
        for found in (self._mounted(variable), self._environ.get(variable), self._env_file.get(variable)):
            if found and found.strip():
                return found.strip()
        return None

    def _mounted(self, variable: str) -> str | None:
        directory = self._environ.get(KEYS_DIR_VARIABLE)
        if not directory or not variable or "/" in variable:
            return None
        path = Path(directory) / variable
        watched = self._files.setdefault(str(path), _WatchedFile(path, lambda file: {variable: file.read_text()}))
        return watched.get(variable)
