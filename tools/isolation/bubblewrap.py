"""Isolation by bubblewrap, if it is installed, with the same view and limits."""

from __future__ import annotations

import shutil

from tools.isolation.view import BOX, DEVICES, WRITABLE, host_view


def bubblewrap_command(disk_bytes: int) -> tuple[str, ...]:
    """Returns the command line that precedes the interpreter."""
    view = host_view()
    command = [
        shutil.which("bwrap") or "bwrap",
        "--unshare-all",
        "--unshare-user",
        "--uid",
        "1000",
        "--gid",
        "1000",
        "--cap-drop",
        "ALL",
    ]
    command += ["--die-with-parent", "--new-session", "--hostname", "sandbox"]
    for path in WRITABLE:
        command += ["--size", str(disk_bytes), "--tmpfs", path]
    for path in view.read_only:  # after the writable ones: Python itself may be installed below /tmp
        command += ["--ro-bind", path, path]
    for link, target in view.links:
        command += ["--symlink", target, link]
    for path in DEVICES:
        command += ["--dev-bind", path, path]
    return (*command, "--remount-ro", "/", "--chdir", BOX)
