"""Limits the process that will run the program; nothing that it does later can lift the limits."""

from __future__ import annotations

import os
import resource
import signal
import sys
from typing import Any

from tools.isolation.inside import landlock, seccomp
from tools.isolation.inside import syscalls as sys_


def limit_resources(limits: dict[str, Any], *, count_processes: bool) -> None:
    """Sets hard limits. The kernel counts processes per user, so they are limited only for a user of its own."""
    wanted = {
        resource.RLIMIT_CPU: limits["cpu_s"],
        resource.RLIMIT_NOFILE: limits["open_files"],
        resource.RLIMIT_FSIZE: limits["file_size"],
        resource.RLIMIT_CORE: 0,
    }
    if sys.platform == "linux":
        wanted |= {resource.RLIMIT_AS: limits["memory"], resource.RLIMIT_MEMLOCK: 0, resource.RLIMIT_MSGQUEUE: 0}
        wanted[resource.RLIMIT_SIGPENDING] = limits["processes"]  # also bounds timers
    if count_processes:
        wanted[resource.RLIMIT_NPROC] = limits["processes"]
    for name, value in wanted.items():
        value = int(value)
        resource.setrlimit(name, (value, value))


def wall_in(writable: list[str], devices: list[str]) -> None:
    """Applies Landlock, then seccomp, permanently."""
    sys_.prctl(sys_.PR_SET_NO_NEW_PRIVS, 1)
    sys_.drop_capabilities()
    landlock.restrict(writable, devices)
    seccomp.install()


def die_with_parent() -> None:
    """Kills this process as soon as its supervisor is gone."""
    if sys.platform == "linux":
        sys_.prctl(sys_.PR_SET_PDEATHSIG, signal.SIGKILL)


def only_keep(descriptors: set[int]) -> None:
    """Closes all other inherited files, and makes standard input empty."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    start = 3
    for descriptor in sorted(descriptors):
        os.closerange(start, descriptor)
        start = descriptor + 1
    os.closerange(start, 4096)
