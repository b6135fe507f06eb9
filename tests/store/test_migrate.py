"""The database's file is for its owner alone."""

from __future__ import annotations

import os
from pathlib import Path

from worker.store.migrate import upgrade


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
