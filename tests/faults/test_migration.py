"""A killed migration leaves a database that the next one upgrades."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from worker.faults import POINTS
from worker.store.opening import open_store
from worker.store.schema.migrate import revisions

ROOT = Path(__file__).resolve().parents[2]
STEPMILL = "from worker.cli.main import main; main()"


@pytest.fixture(params=["sqlite", "postgres"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without any table."""
    if request.param == "postgres":
        url: str = request.getfixturevalue("empty_postgres_url")
        return url
    return f"sqlite:///{tmp_path / 'new.db'}"


def stepmill(url: str, *args: str, before: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, in which `before` is run first."""
    environment = {**os.environ, "STEPMILL_DATABASE_URL": url, **env}
    argv = [sys.executable, "-c", before + STEPMILL, *args]
    return subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("point", [point for point in POINTS if point.startswith("migrate")])
def test_a_migration_killed_at_a_point_is_done_whole_by_the_next(empty_url: str, point: str, tmp_path: Path) -> None:
    fault = json.dumps({"point": point, "do": "kill", "once": str(tmp_path / "struck")})
    killed = stepmill(empty_url, "db", "upgrade", before="import tests.faults.hooks; ", STEPMILL_TEST_FAULT=fault)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert stepmill(empty_url, "db", "check").returncode == 3, "nothing of it is there"
    upgraded = stepmill(empty_url, "db", "upgrade")
    assert upgraded.returncode == 0, upgraded.stderr
    assert stepmill(empty_url, "db", "check").returncode == 0
    store = open_store(empty_url)
    there, wanted = revisions(store)
    store.dispose()
    assert there == wanted
