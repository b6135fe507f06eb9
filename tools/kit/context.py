"""What a tool can know and use of the run that calls it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tools.config import environment_settings


@dataclass(frozen=True, slots=True)
class ArtifactRef:
    """A kept file. `uri` is what an answer links to."""

    name: str
    media_type: str
    size_bytes: int
    uri: str


class Artifacts(Protocol):
    """Stores a run's figures and files."""

    def save(self, name: str, data: bytes, media_type: str) -> ArtifactRef:
        """Stores the bytes under this name; the same name in the same tool call replaces an earlier attempt's file."""


class Notes(Protocol):
    """Text that outlives a tool call. `scope` is `run` or `batch`."""

    def get(self, scope: str, name: str) -> str | None: ...

    def set(self, scope: str, name: str, text: str) -> None: ...

    def append(self, scope: str, name: str, text: str) -> None:
        """Adds a line; atomic with respect to other runs of the batch."""


class MemoryArtifacts:
    """Artifacts for trying a tool by hand and for tests: lost when the process ends."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def save(self, name: str, data: bytes, media_type: str) -> ArtifactRef:
        self.files[name] = data
        return ArtifactRef(name, media_type, len(data), f"memory:{name}")


class MemoryNotes:
    """Notes for trying a tool by hand and for tests: lost when the process ends."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def get(self, scope: str, name: str) -> str | None:
        return self._texts.get((scope, name))

    def set(self, scope: str, name: str, text: str) -> None:
        with self._lock:
            self._texts[scope, name] = text

    def append(self, scope: str, name: str, text: str) -> None:
        with self._lock:
            before = self._texts.get((scope, name))
            self._texts[scope, name] = text if before is None else f"{before}\n{text}"


def never_cancelled() -> bool:
    """The `cancelled` of a context that cannot be cancelled."""
    return False


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Passed to functions with a parameter annotated `ToolContext`.

    `idempotency_key` is the same for every attempt of this call: pass it to services that support such keys.
    `deadline` is a `time.monotonic()` value; `cancelled()` is true once the run is cancelled or the worker stops.
    """

    run_id: str = ""
    step: int = 0
    call: int = 0
    batch_id: str | None = None
    idempotency_key: str = ""
    notes: Notes = field(default_factory=MemoryNotes)
    artifacts: Artifacts = field(default_factory=MemoryArtifacts)
    cancelled: Callable[[], bool] = never_cancelled
    deadline: float = math.inf
    settings: Mapping[str, str] = field(default_factory=environment_settings)

    def remaining_s(self) -> float:
        """Returns the seconds until the deadline, 0 if it has passed, `inf` if there is none."""
        return max(0.0, self.deadline - time.monotonic())

    def stopped(self) -> str | None:
        """Returns why the tool should stop now (`cancelled`, `out of time`), or None."""
        if self.cancelled():
            return "cancelled"
        return "out of time" if self.remaining_s() == 0.0 else None
