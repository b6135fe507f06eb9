"""The lock that lets one process at a time admit runs, settle endings and count late usage."""

from __future__ import annotations

from sqlalchemy import Connection, text

from worker.store.session import Store

_ADMISSION = 7_315_001  # any number that no other advisory lock in this database uses


def hold_lock(store: Store, tx: Connection) -> None:
    """Waits for the admitters' lock and keeps it until the transaction ends. SQLite has only one writer anyway."""
    if store.postgres:
        tx.execute(text(f"SELECT pg_advisory_xact_lock({_ADMISSION})"))
