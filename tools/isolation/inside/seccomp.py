"""A seccomp filter: system calls that reach the kernel's depths, other processes or the network fail with EPERM."""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

from tools.isolation.inside.syscalls import PR_SET_SECCOMP, prctl_pointer

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_REFUSED: dict[str, tuple[int, int]] = {
    # name: (x86_64, aarch64); -1 where an architecture lacks it
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, -1),
    "iopl": (172, -1),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "modify_ldt": (154, -1),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, -1),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}
_SOCKET, _CLONE, _CLONE3 = (41, 198), (56, 220), (435, 435)
_NEW_NAMESPACES = 0x7E020080
_AF_UNIX = 1

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _refuse(number: int, error: int = errno.EPERM) -> bytes:
    return _step(_JUMP_EQUAL, number, 0, 1) + _step(_RETURN, _ERRNO | error)


def _refuse_unless(number: int, test: int, value: int, *, allowed_if: bool) -> bytes:
    """Decides by the first argument; ends the filter for this call either way."""
    jumps = (1, 0) if allowed_if else (0, 1)
    return (
        _step(_JUMP_EQUAL, number, 0, 4)
        + _step(_LOAD, _FIRST_ARGUMENT_AT)
        + _step(test, value, *jumps)
        + _step(_RETURN, _ERRNO | errno.EPERM)
        + _step(_RETURN, _ALLOW)
    )


def program(machine: str) -> bytes:
    """The filter for an architecture; foreign architectures and the x32 calls are killed."""
    column = list(_ARCHITECTURES).index(machine)
    steps = _step(_LOAD, _ARCHITECTURE_AT) + _step(_JUMP_EQUAL, _ARCHITECTURES[machine], 1, 0) + _step(_RETURN, _KILL)
    steps += _step(_LOAD, _NUMBER_AT)
    if machine == "x86_64":
        steps += _step(_JUMP_AT_LEAST, 0x40000000, 0, 1) + _step(_RETURN, _KILL)
    steps += b"".join(_refuse(numbers[column]) for numbers in _REFUSED.values() if numbers[column] >= 0)
    steps += _refuse(_CLONE3[column], errno.ENOSYS)  # the C library then uses clone, whose flags can be seen
    steps += _refuse_unless(_SOCKET[column], _JUMP_EQUAL, _AF_UNIX, allowed_if=True)
    steps += _refuse_unless(_CLONE[column], _JUMP_ANY_BIT, _NEW_NAMESPACES, allowed_if=False)
    return steps + _step(_RETURN, _ALLOW)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


def install() -> None:
    """For this process and whatever it starts; needs no_new_privs. Raises OSError where the kernel refuses."""
    steps = program(platform.machine())
    buffer = ctypes.create_string_buffer(steps, len(steps))
    filled = _Program(len(steps) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    prctl_pointer(PR_SET_SECCOMP, 2, ctypes.byref(filled))
