"""What tools store for a run: files under the data directory, and notes."""

from __future__ import annotations

import hashlib
from pathlib import Path

from sqlalchemy import delete, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from worker.store.hot.interface import Lease
from worker.store.schema.tables import artifacts, notes
from worker.store.session import NOW, AnyRow, Store, new_id


def save_artifact(store: Store, data_dir: Path, lease: Lease, name: str, data: bytes, media_type: str) -> str:
    """Stores a file for one tool call and returns its id; `name` is a plain file name.

    A repeated attempt replaces the earlier file of the same name. The file is written before its row, so a row
    never points to a missing file.
    """
    artifact_id = new_id("file")
    path = data_dir / "artifacts" / lease.run_id / f"{artifact_id}-{name}"
    path.parent.mkdir(parents=True, exist_ok=True)
    _write_whole(path, data)
    key = {"run_id": lease.run_id, "step": lease.step, "call": lease.call, "name": name}
    row = {"media_type": media_type, "size": len(data), "sha256": hashlib.sha256(data).hexdigest(), "path": str(path)}
    with store.write() as tx:
        tx.execute(delete(artifacts).where(*(artifacts.c[column] == value for column, value in key.items())))
        tx.execute(insert(artifacts).values(id=artifact_id, created_at=NOW, **key, **row))
    return artifact_id


def _write_whole(path: Path, data: bytes) -> None:
    """Writes to a temporary name and renames, so that the file is never visible half written."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def read_note(store: Store, scope: str, name: str) -> str | None:
    """Returns a note's text, or None if there is no such note."""
    query = select(notes.c.body).where(notes.c.scope == scope, notes.c.name == name)
    with store.read() as tx:
        return tx.execute(query).scalar()


def write_note(store: Store, scope: str, name: str, text: str, append: bool = False) -> None:
    """Sets a note, or appends a line in one statement, so that runs writing at once do not lose each other's lines."""
    upsert = postgresql.insert if store.postgres else sqlite.insert
    changed = {"body": notes.c.body + "\n" + text if append else text, "changed_at": NOW}
    statement = upsert(notes).values(scope=scope, name=name, body=text, changed_at=NOW)
    with store.write() as tx:
        tx.execute(statement.on_conflict_do_update(index_elements=["scope", "name"], set_=changed))


def artifacts_of(store: Store, run_id: str) -> list[AnyRow]:
    """Returns the rows of the files that a run's tools stored, in the order of its calls."""
    query = select(artifacts).where(artifacts.c.run_id == run_id)
    with store.read() as tx:
        return list(tx.execute(query.order_by(artifacts.c.step, artifacts.c.call, artifacts.c.created_at)).all())


def artifact(store: Store, artifact_id: str) -> AnyRow | None:
    """Returns the row of one stored file, or None."""
    with store.read() as tx:
        return tx.execute(select(artifacts).where(artifacts.c.id == artifact_id)).one_or_none()
