"""Every command of the README is run, or checked if it takes long or needs containers."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import README, ROOT, commands, write_files
from tests.docs.shell import ELSEWHERE, run_commands
from tests.servers.compose import services

LINES = commands(README)
MAX_LINES = 130


def test_it_is_one_page() -> None:
    assert len(README.read_text().splitlines()) <= MAX_LINES


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_its_commands_work_in_their_order(tmp_path: Path, own_model: str) -> None:
    write_files(README, tmp_path)
    done = run_commands(LINES, tmp_path, {"http://127.0.0.1:8000/v1": own_model})
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert done.stdout.count("66") >= 2, said
    assert "120 pieces" in done.stdout, said
    rows = (tmp_path / "results.csv").read_text().splitlines()
    assert len(rows) == 3 and "144" in rows[1], rows


@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("make ")])
def test_make_knows_the_targets(line: str) -> None:
    target = line.partition("#")[0].split()[1]
    make = shutil.which("make")
    assert make is not None, "make is missing: `apt-get install make` brings it"
    done = subprocess.run([make, "--dry-run", target], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {"demo": "stepmill demo", "test": "pytest"}[target] in done.stdout


def test_the_container_commands_name_services_and_files_that_there_are() -> None:
    scaled = [found[1] for line in LINES for found in re.finditer(r"--scale (\S+)=", line)]
    assert scaled and set(scaled) <= set(services())
    assert "cp .env.example .env    # fill it in" in LINES
    assert (ROOT / ".env.example").is_file()


def test_nothing_else_is_left_out() -> None:
    left_out = {line.split()[0] for line in LINES if line.startswith(ELSEWHERE)}
    assert left_out == {"make", "docker", "cp", "."}


def test_the_places_that_it_names_are_there() -> None:
    table = README.read_text().partition("## Where things are")[2]
    named = re.findall(r"`([\w./]+/[\w./]*)`|\]\(([\w./]+)\)", table)
    named = [place or link for place, link in named]
    assert len(named) >= 10
    assert [name for name in named if not (ROOT / name).exists()] == []
