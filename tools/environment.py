"""The only place that reads environment variables: the process's own, then those in the `.env` of the directory."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

ENV_FILE = ".env"


class _Stamp(NamedTuple):
    """What changes if a file is rewritten, or replaced as mounted files are."""

    path: str
    mtime_ns: int
    size: int
    inode: int


@dataclass
class _EnvFile:
    """The variables in the current directory's `.env`, read again after it changes. Threads may share it."""

    stamp: _Stamp | None = None
    variables: Mapping[str, str | None] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self) -> Mapping[str, str | None]:
        with self.lock:
            stamp = _look()
            if stamp != self.stamp:
                self.variables = _variables(stamp)
                self.stamp = stamp
            return self.variables


_ENV_FILE = _EnvFile()


def variable(name: str) -> str | None:
    """Returns a variable's value, without surrounding space; None if it is unset or blank in both places."""
    return _given(os.environ.get(name)) or _given(_ENV_FILE.read().get(name))


def environment() -> dict[str, str]:
    """Returns every variable, as `variable` does."""
    found = {name: _given(value) for name, value in _ENV_FILE.read().items()}
    found |= {name: given for name, value in os.environ.items() if (given := _given(value)) is not None}
    return {name: value for name, value in found.items() if value is not None}


def _given(value: str | None) -> str | None:
    return (value or "").strip() or None


def _look() -> _Stamp | None:
    path = os.path.abspath(ENV_FILE)
    try:
        found = os.stat(path)
    except OSError:
        return None
    return _Stamp(path, found.st_mtime_ns, found.st_size, found.st_ino)


def _variables(stamp: _Stamp | None) -> Mapping[str, str | None]:
    if stamp is None:
        return {}
    from dotenv import dotenv_values  # imported only if there is such a file: commands start sooner

    return dotenv_values(stamp.path)
