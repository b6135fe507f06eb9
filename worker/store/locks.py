"""The lock under which one process at a time admits, settles endings and counts what came late."""

from __future__ import annotations

from sqlalchemy import Connection, text

from worker.store.session import Store

_ADMISSION = 7_315_001  # any number, as long as nobody else in this database takes it


def hold_lock(store: Store, tx: Connection) -> None:
    """Waits for the lock of all admitters and keeps it until the transaction ends; SQLite has one writer anyway."""
    if store.postgres:
        tx.execute(text(f"SELECT pg_advisory_xact_lock({_ADMISSION})"))
