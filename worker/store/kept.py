"""What tools keep for a run: files under the data directory, and notes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Select, delete, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from tools.base import ArtifactRef
from worker.store.claims import Lease
from worker.store.session import NOW, Store, new_id
from worker.store.tables import artifacts, notes


@dataclass(frozen=True, slots=True)
class StoredArtifacts:
    """Files of one tool call. An attempt that is repeated replaces what the earlier one left under the same name."""

    store: Store
    data_dir: Path
    api_url: str
    lease: Lease

    def save(self, name: str, data: bytes, media_type: str) -> ArtifactRef:
        """Writes the file first and its row after, so that a row never points to nothing."""
        artifact_id = new_id("file")
        safe = Path(name).name or "file"
        path = self.data_dir / "artifacts" / self.lease.run_id / f"{artifact_id}-{safe}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        run, step, call = self.lease.run_id, self.lease.step, self.lease.call
        same = (artifacts.c.run_id == run, artifacts.c.step == step, artifacts.c.call == call, artifacts.c.name == safe)
        with self.store.write() as tx:
            tx.execute(delete(artifacts).where(*same))
            tx.execute(
                insert(artifacts).values(
                    id=artifact_id, run_id=run, step=step, call=call, name=safe, media_type=media_type,
                    size=len(data), sha256=hashlib.sha256(data).hexdigest(), path=str(path), created_at=NOW,
                )
            )  # fmt: skip
        return ArtifactRef(safe, media_type, len(data), f"{self.api_url}/api/artifacts/{artifact_id}")


@dataclass(frozen=True, slots=True)
class StoredNotes:
    """Notes of a run (`scope` run) and those that the runs of its batch share (`scope` batch)."""

    store: Store
    run_id: str
    batch_id: str

    def get(self, scope: str, name: str) -> str | None:
        with self.store.read() as tx:
            return tx.execute(self._query(scope, name)).scalar()

    def set(self, scope: str, name: str, text: str) -> None:
        self._write(scope, name, text, append=False)

    def append(self, scope: str, name: str, text: str) -> None:
        """Adds a line in one statement, so that two runs of a batch lose nothing of each other's."""
        self._write(scope, name, text, append=True)

    def _write(self, scope: str, name: str, text: str, append: bool) -> None:
        upsert = postgresql.insert if self.store.postgres else sqlite.insert
        row = {"scope": self._scope(scope), "name": name, "body": text, "changed_at": NOW}
        body = notes.c.body + "\n" + text if append else text
        statement = upsert(notes).values(**row)
        changed = {"body": body, "changed_at": NOW}
        with self.store.write() as tx:
            tx.execute(statement.on_conflict_do_update(index_elements=["scope", "name"], set_=changed))

    def _query(self, scope: str, name: str) -> Select[str]:
        return select(notes.c.body).where(notes.c.scope == self._scope(scope), notes.c.name == name)

    def _scope(self, scope: str) -> str:
        return f"batch:{self.batch_id}" if scope == "batch" else f"run:{self.run_id}"
