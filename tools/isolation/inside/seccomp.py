"""A seccomp filter: calls that reach deep into the kernel, other processes or the network, or make the kernel hold
memory that no limit counts, fail with EPERM."""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from dataclasses import dataclass

from tools.isolation.inside.syscalls import PR_SET_SECCOMP, prctl_pointer

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_REFUSED: dict[str, tuple[int, int]] = {
    # name: (x86_64, aarch64); -1 if an architecture lacks it
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "epoll_create": (213, -1),
    "epoll_create1": (291, 20),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsetxattr": (190, 7),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "inotify_init": (253, -1),
    "inotify_init1": (294, 26),
    "io_setup": (206, 0),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, -1),
    "iopl": (172, -1),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "landlock_add_rule": (445, 445),
    "landlock_create_ruleset": (444, 444),
    "landlock_restrict_self": (446, 446),
    "lookup_dcookie": (212, 18),
    "listmount": (458, 458),
    "lsetxattr": (189, 6),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "modify_ldt": (154, -1),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "mq_open": (240, 180),
    "msgget": (68, 186),
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
    "seccomp": (317, 277),
    "semget": (64, 190),
    "sendfile": (40, 71),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "setxattr": (188, 5),
    "shmget": (29, 194),
    "splice": (275, 76),
    "statmount": (457, 457),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "tee": (276, 77),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, -1),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
    "vmsplice": (278, 75),
}
_CLONE3 = (435, 435)
_FIRST_UNKNOWN = 463
"""Calls from here on, numbered alike everywhere, have not been reviewed. They fail as on an older kernel."""
_LOAD, _JUMP_EQUAL, _AND, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x54, 0x35, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _refuse(number: int, error: int = errno.EPERM) -> bytes:
    return _step(_JUMP_EQUAL, number, 0, 1) + _step(_RETURN, _ERRNO | error)


@dataclass(frozen=True, slots=True)
class _Test:
    """Refuses a call if an argument, masked, is one of the values (with `wanted`: is none of them)."""

    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF
    wanted: bool = False

    def steps(self) -> bytes:
        """Returns the steps; execution continues after them if the call is not refused."""
        steps = _step(_LOAD, _ARGUMENTS_AT + 8 * self.argument) + _step(_AND, self.mask)
        for left, value in zip(reversed(range(len(self.values))), self.values, strict=True):
            steps += _step(_JUMP_EQUAL, value, left + 1 if self.wanted else left, 0 if left else int(not self.wanted))
        return steps + _step(_RETURN, _ERRNO | errno.EPERM)


_ONLY_STREAMS = (_Test(0, (1,), wanted=True), _Test(1, (1,), mask=0xF, wanted=True))  # AF_UNIX, SOCK_STREAM
_REFUSED_BY_ARGUMENT: dict[tuple[int, int], tuple[_Test, ...]] = {
    (41, 198): _ONLY_STREAMS,  # socket
    (53, 199): _ONLY_STREAMS,  # socketpair: data from a closed datagram sender would remain, unseen
    (54, 208): (_Test(2, (7, 8, 32, 33)),),  # setsockopt: buffers keep the kernel's default size
    (16, 29): (_Test(1, (0x8900,), mask=0xFF00),),  # ioctl: everything for sockets, which also loads modules
    (157, 167): (_Test(0, (22,)),),  # prctl: the other way to add filters
    (302, 261): (_Test(0, (0,), wanted=True),),  # prlimit64: limits of other processes, such as the supervisor
    (56, 220): (_Test(0, (0,), mask=0x7E020080, wanted=True),),  # clone: no new namespaces
    (72, 25): (_Test(1, (37, 38, 1024, 1026, 1031)),),  # fcntl: open file locks, leases, notifications, pipe size
    # mmap: shared memory without a file outlives its resident pages, and huge pages never count as resident
    (9, 222): (_Test(3, (0x21,), mask=0x21), _Test(3, (0x40000,), mask=0x40000)),
}
"""By (x86_64, aarch64) number."""


def _refuse_if(number: int, *tests: _Test) -> bytes:
    """Decides by the arguments; ends the filter for this call either way."""
    steps = b"".join(test.steps() for test in tests) + _step(_RETURN, _ALLOW)
    return _step(_JUMP_EQUAL, number, 0, len(steps) // 8) + steps


def program(machine: str) -> bytes:
    """Returns the filter for an architecture; kills foreign architectures and x32 calls."""
    column = list(_ARCHITECTURES).index(machine)
    steps = _step(_LOAD, _ARCHITECTURE_AT) + _step(_JUMP_EQUAL, _ARCHITECTURES[machine], 1, 0) + _step(_RETURN, _KILL)
    steps += _step(_LOAD, _NUMBER_AT)
    if machine == "x86_64":
        steps += _step(_JUMP_AT_LEAST, 0x40000000, 0, 1) + _step(_RETURN, _KILL)
    steps += b"".join(_refuse(numbers[column]) for numbers in _REFUSED.values() if numbers[column] >= 0)
    steps += _refuse(_CLONE3[column], errno.ENOSYS)  # the C library then uses clone, whose flags can be seen
    steps += _step(_JUMP_AT_LEAST, _FIRST_UNKNOWN, 0, 1) + _step(_RETURN, _ERRNO | errno.ENOSYS)
    for numbers, tests in _REFUSED_BY_ARGUMENT.items():
        steps += _refuse_if(numbers[column], *tests)
    return steps + _step(_RETURN, _ALLOW)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


def install() -> None:
    """Filters this process and its descendants; needs no_new_privs. Raises OSError if the kernel refuses."""
    steps = program(platform.machine())
    buffer = ctypes.create_string_buffer(steps, len(steps))
    filled = _Program(len(steps) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    prctl_pointer(PR_SET_SECCOMP, 2, ctypes.byref(filled))
