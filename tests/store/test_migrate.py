"""Only its owner can read the database file, and a database that is too new is left alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sqlalchemy import text

from worker.cli.checks import check_database
from worker.core.errors import UserError
from worker.store.opening import open_store
from worker.store.schema.migrate import NewerDatabase, mismatch, upgrade


def test_a_new_sqlite_file_and_an_older_one_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    new, older = tmp_path / "new.db", tmp_path / "older.db"
    older.touch(0o644)
    for file in (new, older):
        upgrade(f"sqlite:///{file}")
        assert file.stat().st_mode & 0o777 == 0o600


def test_what_sqlite_writes_beside_the_file_is_as_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        upgrade(f"sqlite:///{tmp_path / 'x.db'}")
    finally:
        os.umask(before)
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}


def test_a_database_that_a_newer_version_upgraded_is_left_alone_and_named(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    upgrade(url)
    store = open_store(url)
    assert mismatch(store) == ""
    with store.write() as tx:
        tx.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    assert "newer than this version" in mismatch(store) and "restore a backup" in mismatch(store)
    with pytest.raises(NewerDatabase, match="schema 9999"):
        upgrade(url)
    with pytest.raises(UserError, match="newer than this version") as caught:
        check_database(url)
    assert caught.value.exit_code == 3 and "db upgrade" not in caught.value.hint
    store.dispose()
