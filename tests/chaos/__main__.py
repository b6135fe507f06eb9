"""`python -m tests.chaos --seed N --runs 300 --database sqlite|postgres`: one storm; the seed repeats it."""

from __future__ import annotations

import argparse
import os
import sys

import pytest

from tests.chaos.storm import RUNS_VARIABLE


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--database", choices=["sqlite", "postgres", "both"], default="both")
    options = parser.parse_args()
    os.environ[RUNS_VARIABLE] = str(options.runs)
    chosen = [] if options.database == "both" else ["-k", options.database]
    storm = ["tests/faults/test_chaos.py", "-m", "chaos", "-s", "--chaos-seed", str(options.seed)]
    return int(pytest.main([*storm, *chosen]))


if __name__ == "__main__":
    sys.exit(main())
