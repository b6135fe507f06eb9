"""System calls that Python does not offer, through the C library; Linux only."""

from __future__ import annotations

import ctypes
import os
import platform
from functools import cache

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
MNT_DETACH = 2
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV = 1, 2, 4
AT_RECURSIVE, AT_FDCWD = 0x8000, -100

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = (
    1,
    4,
    22,
    24,
    36,
    38,
)
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_MOUNT_SETATTR = 442
_CAPSET = {"x86_64": 126, "aarch64": 91}


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def checked(result: int, what: str) -> int:
    """Returns the result, or raises the OSError that the C library set."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, *arguments: object) -> int:
    """Makes a raw system call; takes pointers and integers only. Returns -1 on error."""
    wide = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return int(_libc().syscall(ctypes.c_long(number), *wide))


def unshare(flags: int) -> None:
    checked(_libc().unshare(ctypes.c_int(flags)), "unshare")


def sethostname(name: str) -> None:
    """Avoids `socket`, which settles on `epoll` when it is imported: programs have to do without it."""
    checked(_libc().sethostname(name.encode(), ctypes.c_size_t(len(name.encode()))), "sethostname")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    result = _libc().mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode())
    checked(result, f"mount {source or kind} on {target}")


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("prop", ctypes.c_uint64),
        ("ns", ctypes.c_uint64),
    )


def set_mount_attributes(path: str, attributes: int, *, recursive: bool) -> None:
    """Adds attributes to a mount, recursively if asked; never removes any."""
    wanted = _MountAttributes(attributes, 0, 0, 0)
    flags = AT_RECURSIVE if recursive else 0
    size = ctypes.sizeof(wanted)
    result = syscall(_MOUNT_SETATTR, AT_FDCWD, ctypes.c_char_p(path.encode()), flags, ctypes.byref(wanted), size)
    checked(result, f"mount_setattr {path}")


def pivot_root_here() -> None:
    """Makes the working directory the root and detaches the old one."""
    here = ctypes.c_char_p(b".")
    checked(syscall(_PIVOT_ROOT[platform.machine()], here, here), "pivot_root")
    checked(_libc().umount2(b".", MNT_DETACH), "umount of the old root")
    os.chdir("/")


def prctl(option: int, value: int = 0) -> None:
    checked(_libc().prctl(option, ctypes.c_ulong(value), 0, 0, 0), f"prctl {option}")


def prctl_pointer(option: int, value: int, pointer: object) -> None:
    checked(_libc().prctl(option, ctypes.c_ulong(value), pointer, 0, 0), f"prctl {option}")


def drop_capabilities() -> None:
    """Drops all capabilities of this process and its descendants."""
    for capability in range(64):
        if _libc().prctl(PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) < 0:
            break  # past the last that this kernel knows, or unprivileged and so without any to drop
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    nothing = (ctypes.c_uint32 * 6)()
    checked(syscall(_CAPSET[platform.machine()], ctypes.byref(header), ctypes.byref(nothing)), "capset")
