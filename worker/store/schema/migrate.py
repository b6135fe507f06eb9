"""Migrates a database to this version's schema, and checks whether its schema matches."""

from __future__ import annotations

import os
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from worker.core.errors import UserError
from worker.faults import reach
from worker.store.opening import open_store
from worker.store.session import Store

_LOCK = 7_315_002


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config


def upgrade(url: str) -> None:
    """Migrates to the newest schema. Safe to run from several processes at once, and to repeat.

    Raises `NewerDatabase` and changes nothing if a newer version has already migrated it.
    """
    if url.startswith("sqlite:///"):
        _keep_private(Path(url.removeprefix("sqlite:///")))
    store = open_store(url)
    try:
        with store.write() as tx:
            if store.postgres:
                tx.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
            reach("migrate.begun")
            there = MigrationContext.configure(tx).get_current_revision()
            if there is not None and not known(there):
                raise NewerDatabase(there)
            config = _config()
            config.attributes["connection"] = tx
            command.upgrade(config, "head")
            reach("migrate.written")
    finally:
        store.dispose()


def _keep_private(file: Path) -> None:
    """Makes the file readable by its owner only, since it holds questions and answers; SQLite's WAL gets its mode."""
    file.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
    if file.stat().st_uid == os.getuid():
        file.chmod(0o600)


class NewerDatabase(UserError):
    """A newer version of stepmill has migrated the database; this version cannot read what it wrote."""

    def __init__(self, revision: str) -> None:
        message = f"The database is at schema {revision}, which is newer than this version of stepmill."
        super().__init__(message, "Run the version that upgraded it, or restore a backup from before.", exit_code=3)


def mismatch(store: Store) -> str:
    """Returns why this version cannot use the database, with the remedy, in a sentence; "" if it can."""
    there, needed = revisions(store)
    if there == needed:
        return ""
    if there is not None and not known(there):
        return f"{NewerDatabase(there).message} {NewerDatabase(there).hint}"
    return f"The database is at {there or 'no schema'}, this version needs {needed}: `stepmill db upgrade`."


def known(revision: str) -> bool:
    """Returns whether this version has a migration with this revision."""
    return any(one.revision == revision for one in ScriptDirectory.from_config(_config()).walk_revisions())


def revisions(store: Store) -> tuple[str | None, str | None]:
    """Returns the database's revision (None if empty) and the revision that this version needs."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    with store.read() as tx:
        return MigrationContext.configure(tx).get_current_revision(), head
