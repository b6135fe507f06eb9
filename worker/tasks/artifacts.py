"""The engine's implementation of a tool context's artifacts and notes, which outlive the call."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tools.base import ArtifactRef, ToolError
from worker.store.artifacts import read_note, save_artifact, write_note
from worker.store.hot.interface import Lease
from worker.store.session import Store
from worker.tasks.database_retry import retry_on_outage


@dataclass(frozen=True, slots=True)
class StoredArtifacts:
    """Stores files of one tool call and returns links to them in the API."""

    store: Store
    data_dir: Path
    api_url: str
    lease: Lease

    def save(self, name: str, data: bytes, media_type: str) -> ArtifactRef:
        plain = Path(name).name or "file"
        try:
            artifact_id, _ = retry_on_outage(
                "artifact",
                lambda: save_artifact(self.store, self.data_dir, self.lease, plain, data, media_type),
            )
        except OSError as error:
            raise ToolError(
                f"The file {plain} could not be kept: {error.strerror or error}.", retryable=True
            ) from error
        return ArtifactRef(plain, media_type, len(data), f"{self.api_url}/api/artifacts/{artifact_id}")


@dataclass(frozen=True, slots=True)
class StoredNotes:
    """Notes of a run (`scope` run), and notes that all runs of its batch share (`scope` batch)."""

    store: Store
    run_id: str
    batch_id: str

    def get(self, scope: str, name: str) -> str | None:
        return read_note(self.store, self._scope(scope), name)

    def set(self, scope: str, name: str, text: str) -> None:
        write_note(self.store, self._scope(scope), name, text)

    def append(self, scope: str, name: str, text: str) -> None:
        write_note(self.store, self._scope(scope), name, text, append=True)

    def _scope(self, scope: str) -> str:
        return f"batch:{self.batch_id}" if scope == "batch" else f"run:{self.run_id}"
