"""A full disk: nothing is lost, it is reported clearly, and work continues once there is room."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.services.needs import program

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform != "linux", reason="a tiny disk of one's own needs Linux"),
]

ROOT = Path(__file__).resolve().parents[2]
SIZE = "8m"
IN_A_NAMESPACE = 'mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && exec "$@"'


@pytest.mark.parametrize("which", ["under_the_database", "a_file_that_does_not_fit"])
def test_on_a_disk_of_a_few_megabytes(which: str, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    unshare = program("unshare", package="util-linux")
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/faults/full_disk.py", "-k", which]
    argv = [unshare, "--map-root-user", "--mount", "sh", "-c", IN_A_NAMESPACE, "sh", SIZE, str(disk), *tests]
    environment = {**os.environ, "STEPMILL_TEST_SMALL_DISK": str(disk)}
    ran = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280)
    assert ran.returncode == 0 and "1 passed" in ran.stdout, ran.stdout + ran.stderr
