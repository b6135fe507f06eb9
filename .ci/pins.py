"""Writes requirements.txt (to run stepmill) and requirements-dev.txt (to work on it) from what .venv holds.

Versions are those installed, direct or not; pip-compile adds the hashes of every file of each version, so that the pins
hold on other systems too.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
CONTINUED = " \\\n"
HEADER = "# Written by `make pins`; edit pyproject.toml instead.\n"
OPTIONS = [
    "--quiet", "--generate-hashes", "--allow-unsafe", "--strip-extras", "--no-annotate", "--no-header",
    "--no-emit-index-url", "--no-emit-find-links", "--no-emit-trusted-host", "--no-emit-options",
]  # fmt: skip
# Interpreters and systems that the pins must hold on, beside the one that this runs on.
ELSEWHERE = [
    {"python_full_version": f"{version}.0", "python_version": version, "sys_platform": system}
    for version in ("3.11", "3.12", "3.13")
    for system in ("linux", "darwin")
]

Needs = dict[str, str]
"""Names of distributions, each with the marker under which it is needed, "" for always."""


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    run = project["dependencies"] + extras["science"] + extras["parquet"]
    write(ROOT / "requirements.txt", closure(run))
    write(ROOT / "requirements-dev.txt", closure(run + extras["test"]))


def closure(wanted: list[str]) -> Needs:
    """Everything that `wanted` needs, directly or not, here or elsewhere. All of it must be installed."""
    needs: Needs = {}
    visited: set[tuple[str, str]] = set()
    todo = [(Requirement(text), "") for text in wanted]
    while todo:
        requirement, extra = todo.pop()
        here = applies(requirement, {"extra": extra})
        if not here and not any(applies(requirement, {"extra": extra, **other}) for other in ELSEWHERE):
            continue
        name = canonicalize_name(requirement.name)
        needs[name] = "" if here else needs.get(name, str(requirement.marker))
        for wanted_extra in ("", *requirement.extras):
            if (name, wanted_extra) not in visited:
                visited.add((name, wanted_extra))
                todo += [(Requirement(text), wanted_extra) for text in distribution(name).requires or []]
    return needs


def applies(requirement: Requirement, environment: dict[str, str]) -> bool:
    return requirement.marker is None or requirement.marker.evaluate(environment)


def write(target: Path, needs: Needs) -> None:
    with tempfile.TemporaryDirectory() as directory:
        pins, hashed = Path(directory) / "pins.in", Path(directory) / "hashed.txt"
        # Without markers: pip-compile drops what is not needed here.
        pins.write_text("".join(f"{name}=={distribution(name).version}\n" for name in needs))
        subprocess.run([sys.executable, "-m", "piptools", "compile", *OPTIONS, "-o", hashed, pins], check=True)
        lines = hashed.read_text().splitlines(keepends=True)
        target.write_text(HEADER + "".join(with_marker(needs, line) for line in lines))


def with_marker(needs: Needs, line: str) -> str:
    name, is_pin, version = line.partition("==")
    marker = needs.get(name.strip(), "") if is_pin else ""
    return f"{name}=={version.removesuffix(CONTINUED)} ; {marker}{CONTINUED}" if marker else line


if __name__ == "__main__":
    main()
