"""Landlock as a second barrier: reads within the view, writes in its own directories, no TCP, no signals out."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable

from tools.isolation.inside.syscalls import checked, syscall

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_READ = 0b1101  # execute, read a file, read a directory
_WRITE_FILE = 0b10
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""The number of file access rights in each version of the interface."""
_BOTH_NET_RIGHTS, _BOTH_SCOPES = 0b11, 0b11


def version() -> int:
    """Returns the version of the kernel's Landlock interface; 0 if it has none."""
    return max(0, syscall(_CREATE, ctypes.c_void_p(None), 0, 1))


def restrict(writable: Iterable[str], devices: Iterable[str]) -> None:
    """Restricts this process and its descendants; needs no_new_privs. Does nothing on a kernel without Landlock."""
    known = version()
    if known == 0:
        return
    every_right = (1 << _RIGHTS[min(known, 5)]) - 1
    net = _BOTH_NET_RIGHTS if known >= 4 else 0
    scopes = _BOTH_SCOPES if known >= 6 else 0
    attributes = struct.pack("QQQ", every_right, net, scopes)[: 24 if known >= 6 else 16 if known >= 4 else 8]
    rules = checked(syscall(_CREATE, ctypes.c_char_p(attributes), len(attributes), 0), "landlock_create_ruleset")
    _allow(rules, "/", _READ)
    for path in writable:
        _allow(rules, path, every_right)
    for path in devices:
        _allow(rules, path, 0b100 | _WRITE_FILE)
    checked(syscall(_RESTRICT, rules, 0), "landlock_restrict_self")
    os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    attributes = struct.pack("=Qi", rights, beneath)
    checked(syscall(_ADD_RULE, rules, 1, ctypes.c_char_p(attributes), 0), f"landlock_add_rule {path}")
    os.close(beneath)
