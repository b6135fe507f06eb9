"""Opens files below a directory only: part by part, without following links, so that no race can lead outside."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.kit.errors import ToolError


@contextmanager
def opened(directories: Sequence[Path], path: str, *, directory: bool) -> Iterator[int]:
    """Yields the descriptor of a regular file (or directory) below one of the allowed directories. Raises ToolError.

    `path` is relative to the only directory, or begins with the name of one of several; it may also begin with an
    allowed directory's absolute path.
    """
    root, parts = locate(directories, path)
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for place, part in enumerate(parts):
            last = place == len(parts) - 1
            inner = _open_part(descriptor, part, path, as_directory=directory or not last)
            os.close(descriptor)
            descriptor = inner
        if not directory:
            _check_regular(descriptor, path)
        yield descriptor
    finally:
        os.close(descriptor)


def locate(directories: Sequence[Path], path: str) -> tuple[Path, list[str]]:
    """Returns the allowed directory that is meant, and the names below it. Touches no file."""
    if not directories:
        raise ToolError("No directory is open to tools here; the operator names them with STEPMILL_FILES_DIRS.")
    if "\0" in path:
        raise ToolError("A path cannot hold a null character.")
    for directory in directories:
        if path == str(directory) or path.startswith(f"{directory}/"):
            return directory, _parts(path.removeprefix(str(directory)), path)
    if path.startswith(("/", "~")):
        raise ToolError(f'"{path}" is outside the directories that are open to you: {names(directories)}.')
    parts = _parts(path, path)
    if len(directories) == 1:
        return directories[0], parts
    chosen = next((directory for directory in directories if parts and directory.name == parts[0]), None)
    if chosen is None:
        raise ToolError(f"Begin the path with one of the directories that are open to you: {names(directories)}.")
    return chosen, parts[1:]


def names(directories: Sequence[Path]) -> str:
    """Returns the directories' names for a sentence."""
    return ", ".join(directory.name for directory in directories)


def _parts(path: str, shown: str) -> list[str]:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ToolError(f'"{shown}" goes up with "..", which is not allowed; write the path from the top.')
    return parts


def _open_part(parent: int, part: str, path: str, *, as_directory: bool) -> int:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_DIRECTORY if as_directory else 0)
    try:
        return os.open(part, flags, dir_fd=parent)
    except FileNotFoundError:
        raise ToolError(f'There is no "{path}". Use list_files to see what there is.') from None
    except OSError as error:
        if stat.S_ISLNK(_mode(parent, part)):
            raise ToolError(f'"{part}" in "{path}" is a link; links are not followed.') from None
        kind = "a directory" if as_directory else "a readable file"
        raise ToolError(f'"{part}" in "{path}" is not {kind} ({os.strerror(error.errno or 0)}).') from None


def _mode(parent: int, part: str) -> int:
    try:
        return os.stat(part, dir_fd=parent, follow_symlinks=False).st_mode
    except OSError:
        return 0


def _check_regular(descriptor: int, path: str) -> None:
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        raise ToolError(f'"{path}" is a directory; use list_files.')
    if not stat.S_ISREG(mode):
        raise ToolError(f'"{path}" is no ordinary file (a device, pipe or socket) and cannot be read.')
