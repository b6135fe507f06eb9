"""The host files that a program sees: its Python and libraries, read-only, and nothing else."""

from __future__ import annotations

import os
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path

BOX = "/box"
"""The program's own directory, empty at first, by its name inside."""

_SYSTEM_LIBRARIES = (
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/local/lib",
    "/etc/ld.so.cache",
)
WRITABLE = (BOX, "/tmp", "/dev/shm")
"""Directories of its own, each empty at first and deleted at the end."""

DEVICES = ("/dev/null", "/dev/random", "/dev/urandom")
"""/dev/zero is left out: a shared mapping of it is memory that no limit counts."""

PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])


@dataclass(frozen=True, slots=True)
class View:
    """Paths are the same inside and outside; `links` are symbolic links to create (`/lib` often is one)."""

    python: str
    read_only: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    library_paths: tuple[str, ...]


@cache
def host_view() -> View:
    """Returns the view on this machine, for the Python that runs this process."""
    python = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    libraries = _library_paths()
    own = (f"{PACKAGE_ROOT}/tools/__init__.py", f"{PACKAGE_ROOT}/tools/isolation")
    wanted = [
        python,
        f"{sys.base_prefix}/lib",
        f"{sys.base_prefix}/lib64",
        sysconfig.get_path("stdlib"),
        *libraries,
        *own,
    ]
    links = tuple((path, os.readlink(path)) for path in _SYSTEM_LIBRARIES if os.path.islink(path))
    system = [path for path in _SYSTEM_LIBRARIES if os.path.exists(path) and not os.path.islink(path)]
    return View(python, _outermost([*system, *wanted]), links, libraries)


def _library_paths() -> tuple[str, ...]:
    """Returns where packages are installed, according to the worker's own interpreter."""
    paths = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    paths += [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    return tuple(dict.fromkeys(path for path in paths if os.path.isdir(path)))


def _outermost(paths: list[str]) -> tuple[str, ...]:
    """Returns the paths that are not inside another one."""
    kept: list[str] = []
    for path in sorted({os.path.abspath(path) for path in paths if os.path.exists(path)}):
        if not any(path == outer or path.startswith(outer + "/") for outer in kept):
            kept.append(path)
    return tuple(kept)
