"""Lists a directory that the operator opened to tools."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime

from tools.base import ToolContext, tool
from tools.config import ToolSettings
from tools.kit.beneath import names, opened

MAX_ENTRIES = 300


@tool(group="data", timeout_s=20.0, idempotent=True)
def list_files(context: ToolContext, path: str = "") -> str:
    """Lists the files and directories in a directory, with size and date. Read one with read_file.

    Args:
        path: The directory, as this tool shows it; leave it out for the top.
    """
    directories = ToolSettings.of(context.settings).files_dirs
    if len(directories) > 1 and path.strip("/. ") == "":
        return f"Directories open to you: {names(directories)}. List one of them."
    with opened(directories, path, directory=True) as descriptor:
        entries = sorted(os.listdir(descriptor))
        lines = [_line(descriptor, name) for name in entries[:MAX_ENTRIES]]
    if len(entries) > MAX_ENTRIES:
        lines.append(f"(… {len(entries) - MAX_ENTRIES:,} more of {len(entries):,})")
    return "\n".join(lines) or "(The directory is empty.)"


def _line(directory: int, name: str) -> str:
    shown = name.encode("utf-8", "replace").decode()
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return f"{shown} (cannot be looked at)"
    changed = datetime.fromtimestamp(status.st_mtime, UTC)
    if stat.S_ISDIR(status.st_mode):
        return f"{shown}/"
    if stat.S_ISREG(status.st_mode):
        return f"{shown} ({status.st_size:,} bytes, {changed:%Y-%m-%d %H:%M} UTC)"
    return f"{shown} ({'a link, not followed' if stat.S_ISLNK(status.st_mode) else 'no ordinary file'})"
