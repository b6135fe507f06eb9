"""Creates namespaces without helpers: a new root that holds only the view, no network, no other processes."""

from __future__ import annotations

import os
import signal
from typing import Any

from tools.isolation.inside import syscalls as sys_

_ALL = (
    sys_.CLONE_NEWNS
    | sys_.CLONE_NEWPID
    | sys_.CLONE_NEWNET
    | sys_.CLONE_NEWIPC
    | sys_.CLONE_NEWUTS
    | sys_.CLONE_NEWCGROUP
)
_SCRATCH = sys_.MS_NOSUID | sys_.MS_NODEV | sys_.MS_NOEXEC
_INNER_ID = 1000
_FIRST_OUTER_ID = 1_800_000_000
"""As root, each program gets a user id that no account has, so that limits count only it."""


def enter(config: dict[str, Any]) -> None:
    """Returns in the first process of the new namespaces, unprivileged; the caller's process waits for it and exits.

    Raises OSError, naming the step, if the kernel or a container refuses.
    """
    user = _new_namespaces()
    sys_.sethostname("sandbox")
    sys_.mount("none", "/", "", sys_.MS_REC | sys_.MS_PRIVATE)
    _build_root(config, user)
    child = os.fork()
    if child:
        _exit_like(child)
    _become(user)


def _new_namespaces() -> int:
    """Returns the program's user id as seen by mounts made here."""
    outer_user, outer_group = os.geteuid(), os.getegid()
    if outer_user == 0:
        sys_.unshare(_ALL)
        return _FIRST_OUTER_ID + os.getpid()
    sys_.unshare(_ALL | sys_.CLONE_NEWUSER)
    for file, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{_INNER_ID} {outer_user} 1"),
        ("gid_map", f"{_INNER_ID} {outer_group} 1"),
    ):
        with open(f"/proc/self/{file}", "w") as stream:
            stream.write(text)
    return _INNER_ID


def _build_root(config: dict[str, Any], user: int) -> None:
    root = config["root"]
    sys_.mount("tmpfs", root, "tmpfs", sys_.MS_NOSUID, "size=1m,nr_inodes=4096,mode=755")
    for path in config["writable"]:
        os.makedirs(root + path)
        options = f"size={config['limits']['disk']},nr_inodes=20000,mode=700,uid={user},gid={user}"
        sys_.mount("tmpfs", root + path, "tmpfs", _SCRATCH, options)
    for path in config["read_only"]:  # after the writable ones: Python itself may be installed below /tmp
        _bind(path, root + path)
        attributes = sys_.MOUNT_ATTR_RDONLY | sys_.MOUNT_ATTR_NOSUID | sys_.MOUNT_ATTR_NODEV
        sys_.set_mount_attributes(root + path, attributes, recursive=True)
    for link, target in config["links"]:
        os.makedirs(os.path.dirname(root + link), exist_ok=True)
        os.symlink(target, root + link)
    for path in config["devices"]:
        _bind(path, root + path)
    os.chdir(root)
    sys_.pivot_root_here()
    sys_.set_mount_attributes("/", sys_.MOUNT_ATTR_RDONLY | sys_.MOUNT_ATTR_NODEV, recursive=False)


def _bind(source: str, target: str) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    sys_.mount(source, target, "", sys_.MS_BIND | sys_.MS_REC)


def _become(user: int) -> None:
    """Drops privileges, and makes this process die with the one outside."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    sys_.prctl(sys_.PR_SET_PDEATHSIG, signal.SIGKILL)
    sys_.prctl(sys_.PR_SET_NO_NEW_PRIVS, 1)
    sys_.drop_capabilities()


def _exit_like(child: int) -> None:
    """Waits outside for the first process, whose end kills all others in the namespace, and exits with its status."""
    for number in (0, 1, 2):
        os.dup2(os.open("/dev/null", os.O_RDWR), number)
    _, status = os.waitpid(child, 0)
    os._exit(min(255, abs(os.waitstatus_to_exitcode(status))))
