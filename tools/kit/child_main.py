"""Entry point of a `tools.kit.child` process: limits itself, calls one function, and answers as JSON."""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
from typing import Any

from tools.kit.errors import ToolError


def main() -> None:
    """Reads the task from standard input; the function's own prints go to standard error."""
    answer_to = os.dup(1)
    os.dup2(2, 1)
    task: dict[str, Any] = json.load(sys.stdin.buffer)
    _limit(task)
    answer = json.dumps(_called(task["target"], task["payload"]), ensure_ascii=False, default=str)
    with open(answer_to, "wb") as stream:
        stream.write(answer.encode("utf-8", "replace"))
    os._exit(0)  # does not wait for threads that a library left


def _limit(task: dict[str, Any]) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (task["file"], task["file"]))
    if sys.platform == "linux":
        from tools.isolation.inside import syscalls

        resource.setrlimit(resource.RLIMIT_AS, (task["memory"], task["memory"]))
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)


def _called(target: str, payload: dict[str, Any]) -> dict[str, Any]:
    module, _, function = target.partition(":")
    try:
        return {"value": getattr(importlib.import_module(module), function)(**payload)}
    except ToolError as error:
        return {"error": error.message, "retryable": error.retryable}
    except MemoryError:
        return {"error": "It needs too much memory. Ask for less."}
    except Exception as error:  # any error of a library is reported in one line
        return {"error": f"It failed with {type(error).__name__}: {' '.join(str(error).split())[:500]}"}
