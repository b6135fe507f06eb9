"""Who holds the leases of a process: a UUID of its start, which its pool children read from a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_VARIABLE = "STEPMILL_OWNER_FILE"


class WorkerIdentity:
    """The worker id in force. A worker that was declared dead registers anew; its children then read the new id."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._registered = False
        self._id: str | None = None

    @classmethod
    def from_environment(cls) -> WorkerIdentity:
        """In a pool child: the parent's identity."""
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
        """The id of a process that has registered, and that has used it."""
        return self._id

    def refused(self) -> bool:
        """A claim was refused: look whether the parent has a new id by now. True: it has."""
        if self._path is None or not self._path.exists():
            return False
        before, self._id = self._id, self._path.read_text()
        return self._id != before

    def become(self, worker_id: str) -> None:
        """In the process that registers: takes the id and leaves it where its children look.

        A file that the environment named belongs to another worker, of which this one may be a descendant.
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
        """Shows from outside that the process lives: a container's health check looks at the file's age."""
        if self._path is not None:
            self._path.touch()

    def forget(self) -> None:
        """Removes the file at the end of the process that registered."""
        if self._registered and self._path is not None:
            self._path.unlink(missing_ok=True)
