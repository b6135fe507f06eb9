"""How much a program may use. Sizes in bytes, times in seconds."""

from __future__ import annotations

from dataclasses import asdict, dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """`memory` bounds each process's address space; `disk` each of its directories, which lie in memory.

    `tree_memory` bounds what all its processes hold together: resident, swapped out, in page tables and in sockets.
    """

    time_s: float = 60.0
    cpu_s: int = 60
    memory: int = 1536 * MIB
    tree_memory: int = 2048 * MIB
    processes: int = 64
    open_files: int = 256
    file_size: int = 64 * MIB
    disk: int = 128 * MIB
    output: int = 256 * 1024
    files: int = 20
    files_size: int = 32 * MIB

    def as_json(self) -> dict[str, float]:
        """For the process within."""
        return asdict(self)
