"""The Dockerfile: small, pinned, unprivileged, with all that the commands need."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.servers.compose import ROOT, is_ours, services

DOCKERFILE = (ROOT / "Dockerfile").read_text()
FINAL_STAGE = DOCKERFILE.rpartition("\nFROM ")[2]


def test_it_builds_on_the_version_of_python_that_is_pinned() -> None:
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert len(set(bases)) == 1
    assert re.fullmatch(r"python:3\.11\.\d+-slim-\w+", bases[0])


def test_what_is_installed_is_pinned_with_hashes() -> None:
    installs = re.findall(r"pip install (.*)", DOCKERFILE)
    assert installs
    assert all("--require-hashes" in one or "--no-deps" in one for one in installs)


def test_it_runs_as_a_user_without_rights_and_stops_by_sigterm() -> None:
    assert re.search(r"^USER stepmill$", FINAL_STAGE, re.MULTILINE)
    assert "STOPSIGNAL SIGTERM" in FINAL_STAGE
    assert re.search(r"^CMD \[", FINAL_STAGE, re.MULTILINE)


def test_the_tool_that_builds_the_package_is_taken_from_the_pins() -> None:
    program = re.search(r"awk '([^']+)' requirements-dev.txt", DOCKERFILE)
    assert program
    argv = ["awk", program[1], str(ROOT / "requirements-dev.txt")]
    found = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert re.match(r"setuptools==[\d.]+ \\\n    --hash=sha256:[0-9a-f]{64}", found)
    assert len(re.findall(r"==", found)) == 1


def test_the_context_holds_the_sources_and_nothing_private() -> None:
    lines = (ROOT / ".dockerignore").read_text().split()
    assert lines[0] == "*"
    allowed = {line[1:] for line in lines if line.startswith("!")}
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    wanted = {part.split("/")[0] for line in copied for part in line.split()}
    assert wanted == allowed
    assert not allowed & {".env", "deploy", ".git", ".venv"}


def test_the_flower_configuration_is_where_compose_looks_for_it() -> None:
    conf = next(part for part in services()["flower"]["command"] if part.startswith("--conf=")).partition("=")[2]
    assert f"COPY worker/flowerconfig.py {conf}" in FINAL_STAGE


def test_the_versions_of_image_and_package_agree() -> None:
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version
    assert {one["image"] for one in services().values() if is_ours(one)} == {f"stepmill:{version[1]}"}


def test_the_package_carries_the_files_that_are_no_python(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "README.md", "LICENSE", "stepmill", "worker", "api", "tools"):
        (tmp_path / name).symlink_to(ROOT / name)
    program = "from setuptools import build_meta; build_meta.build_wheel('.')"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    names = set(zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist())
    assert {"worker/agents.toml", "worker/llm/prices.toml", "worker/store/schema/migrations/env.py"} <= names
