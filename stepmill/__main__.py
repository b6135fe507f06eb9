"""The start of each of our processes: our packages are loaded before anything of their names in a user's directories.

`stepmill …`, `python -m stepmill …`, and for processes that we start `python -P …/stepmill/__main__.py …`. The children
of a pool run the top of this file, too, before they load anything else. `stepmill celery …` is Celery's command line.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[1])
OURS = ("api", "tools", "worker")


def load_ours_first() -> None:
    """What comes of a package that is loaded comes from its own directory, whatever is on the path."""
    sys.path.insert(0, ROOT)
    try:
        for name in OURS:
            importlib.import_module(name)
    finally:
        sys.path.remove(ROOT)


load_ours_first()


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    module = "worker.cli.main"
    if sys.argv[1:2] == ["celery"]:
        module = "celery.__main__"
        del sys.argv[1]
    importlib.import_module(module).main()


if __name__ == "__main__":
    main()
