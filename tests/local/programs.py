"""Small programs for a supervisor to run, as `python -c` arguments, and a stack of them as a program of its own."""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path

import psutil

from worker.local.output import Console
from worker.local.redis_server import private_redis
from worker.local.service import Service
from worker.local.stack import run_services
from worker.local.state import own_info, supervising

SAYS_READY = "import signal; print('ready', flush=True); signal.pause()"
IGNORES_TERM = (
    "import signal; signal.signal(15, signal.SIG_IGN); print('ready', flush=True)\nwhile True: signal.pause()"
)
ENDS_WITH_3 = "print('out of cheese', flush=True); raise SystemExit(3)"
HAS_CHILD = """
import subprocess, sys, signal
subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
print("ready", flush=True)
signal.pause()
"""
# A child in its own process group, and a grandchild that left the session, as a daemon would.
HAS_FAMILY = """
import subprocess, sys, signal
sleeper = [sys.executable, "-c", "import signal; signal.signal(15, signal.SIG_IGN)\\nwhile True: signal.pause()"]
subprocess.Popen(sleeper, process_group=0)
daemon = f"import subprocess; subprocess.Popen({sleeper!r}, start_new_session=True)"
subprocess.Popen([sys.executable, "-c", daemon]).wait()
print("ready", flush=True)
signal.pause()
"""


def python(program: str, *args: str) -> tuple[str, ...]:
    return (sys.executable, "-c", program, *args)


def family(pid: int) -> list[psutil.Process]:
    """A process and everything it started; empty once it ended."""
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that still run; a zombie does not."""
    return [one for one in processes if is_alive(one)]


def is_alive(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def main(data_dir: Path) -> None:
    """A stack of a real Redis and a program with a family."""
    with supervising(data_dir):
        _, redis = private_redis(data_dir)
        program = Service("family", python(HAS_FAMILY), ready_line=re.compile("ready"), stage=1)
        run_services([redis, program], own_info(), data_dir, Console(sys.stdout))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
