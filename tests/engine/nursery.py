"""A process that has imported the heavy packages once and forks worker processes from there, a second faster each.

Speaks JSON lines: `{"env", "log", "queues", "pool", "slots", "name"}` in, the pid out. It ends with its standard input,
and every worker with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import logging
import os
import signal
import sys
import threading
from typing import Any

HEAVY = (
    "celery.bin.worker", "celery.worker.worker", "celery.concurrency.thread", "celery.concurrency.prefork", "kombu",
    "openai", "psycopg", "pydantic_settings", "redis", "sqlalchemy.dialects.postgresql", "sqlalchemy.dialects.sqlite",
)  # fmt: skip
PR_SET_PDEATHSIG = 1


def main() -> None:
    for name in HEAVY:
        importlib.import_module(name)
    assert threading.active_count() == 1, "a process with threads must not be forked"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks for exit codes; the kernel reaps
    children: set[int] = set()
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            work(json.loads(line))
        children.add(pid)
        print(pid, flush=True)
    for pid in children:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def work(order: dict[str, Any]) -> None:
    """In the forked process: becomes a worker and never returns."""
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.update(order["env"])
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    code = 70
    try:
        from worker.fleet.process import run_worker  # reads the settings that have only just been given

        code = run_worker(order["queues"], order["pool"], order["slots"], order["name"])
    except BaseException:  # told in the worker's log, whatever it was
        logging.exception("the worker fell over")
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
