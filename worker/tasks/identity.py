"""The worker identity that holds a process's leases: a UUID per start, which pool children read from a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_VARIABLE = "STEPMILL_OWNER_FILE"


class WorkerIdentity:
    """The current worker id. A worker that was declared dead registers anew, and its children read the new id."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._registered = False
        self._id: str | None = None

    @classmethod
    def from_environment(cls) -> WorkerIdentity:
        """Returns the parent's identity, in a pool child."""
        name = os.environ.get(_VARIABLE)
        return cls(Path(name) if name else None)

    @property
    def id(self) -> str:
        """The id to claim with. Raises `RuntimeError` in a process that never registered."""
        if self._id is None and self._path is not None:
            self._id = self._path.read_text()
        if self._id is None:
            raise RuntimeError("This process has not registered as a worker.")
        return self._id

    @property
    def known(self) -> str | None:
        """The id if this process has registered or used it, else None."""
        return self._id

    def refused(self) -> bool:
        """After a refused claim, rereads the parent's id. Returns whether it has changed."""
        if self._path is None or not self._path.exists():
            return False
        before, self._id = self._id, self._path.read_text()
        return self._id != before

    def become(self, worker_id: str) -> None:
        """Sets the id in the process that registered, and writes it to the file that its children read.

        The file named in the environment may belong to another worker that is an ancestor, so a new one is created.
        """
        if not self._registered or self._path is None:
            handle, name = tempfile.mkstemp(prefix="stepmill-owner-")
            os.close(handle)
            self._path, self._registered = Path(name), True
            os.environ[_VARIABLE] = name
        fresh = self._path.with_suffix(".new")
        fresh.write_text(worker_id)
        fresh.replace(self._path)
        self._id = worker_id

    def touch(self) -> None:
        """Updates the file's time, from which a container's health check sees that the process is alive."""
        if self._path is not None:
            self._path.touch()

    def forget(self) -> None:
        """Removes the file when the process that registered ends."""
        if self._registered and self._path is not None:
            self._path.unlink(missing_ok=True)
