"""How much a program may use. Sizes are in bytes, times in seconds."""

from __future__ import annotations

from dataclasses import asdict, dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """`memory` limits each process's address space; `disk` limits each of its directories, which are held in memory.

    `tree_memory` limits what all its processes hold together: resident, swapped out, in page tables and in sockets.
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
        """Returns the limits for the isolated process."""
        return asdict(self)
