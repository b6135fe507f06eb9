"""Entry point of the isolated process: reads its task as JSON from standard input, isolates itself, runs it."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from tools.isolation.inside.supervise import supervise


def main() -> None:
    """Never returns. Exits with 0 and a report, or with 97 and the reason on standard error if isolation failed."""
    config: dict[str, Any] = json.load(sys.stdin.buffer)
    _die_with_the_worker()
    try:
        if config["mode"] == "namespaces":
            from tools.isolation.inside import namespaces  # Linux only

            namespaces.enter(config)
        elif config["mode"] == "none":
            _be_found_by_the_killer()
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        sys.stderr.flush()
        os._exit(97)
    supervise(config)


def _die_with_the_worker() -> None:
    if sys.platform == "linux":
        from tools.isolation.inside import syscalls

        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)


def _be_found_by_the_killer() -> None:
    """Makes orphans of the program children of this process, so that without namespaces they are found and killed."""
    if sys.platform == "linux":
        from tools.isolation.inside import syscalls

        syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)


if __name__ == "__main__":
    main()
