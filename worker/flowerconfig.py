"""Flower's configuration: bounded, on loopback, read-only, and with rows that show ids but no content of runs.

Flower reads this file by its path and uses every name that is one of its options.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any
from urllib.parse import urlsplit

address = "127.0.0.1"
read_only = True
max_workers = 200
max_tasks = 10_000  # about 5 KB each
purge_offline_workers = 3_600
persistent = False
tasks_columns = "name,kwargs,state,result,received,runtime,worker,uuid"

IDS = re.compile(r"""['"]?\b(batch|run|step|call|attempt|queue)\b['"]?\s*[=:]\s*['"]?([\w.\-]+)""")
SHOWN = ("step", "call", "attempt", "queue", "run", "batch")
OUTCOME = re.compile(r"""['"]?([a-z][a-z_ -]{0,40})['"]?""")
ERROR_CLASS = re.compile(r"[A-Za-z_][\w.]*")

if "flower.command" in sys.modules:  # only when Flower itself reads this file, not a test or the command line
    from worker.flowerhosts import LOOPBACK, answer_under

    answer_under({*LOOPBACK, urlsplit(os.environ.get("STEPMILL_FLOWER_URL", "")).hostname or "localhost"})


def format_task(task: Any) -> Any:
    """Keeps only ids, outcome words and error classes of `task`, a copy of what events reported."""
    ids = dict(IDS.findall(f"{task.args or ''} {task.kwargs or ''}"))
    task.args = ""
    # What distinguishes a run's attempts comes first, because a narrow column cuts off the end.
    task.kwargs = " · ".join(f"{name} {ids[name]}" for name in SHOWN if name in ids)
    outcome = OUTCOME.fullmatch(task.result or "")
    task.result = outcome.group(1) if outcome else ""
    error = ERROR_CLASS.match(task.exception or "")
    task.exception = f"{error.group()}: see `stepmill run show {ids.get('run', '')}`" if error else ""
    task.traceback = ""
    return task
