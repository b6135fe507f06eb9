"""Runs one of our own functions in a child process that can be killed: for work on possibly hostile data."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.kit.children import Sink, TreeLimits, ended, watch
from tools.kit.context import ToolContext
from tools.kit.errors import ToolError

_ROOT = str(Path(__file__).resolve().parents[2])
_START = f"import sys; sys.path.insert(0, {_ROOT!r}); from tools.kit.child_main import main; main()"
_KEPT_VARIABLES = ("LANG", "LC_ALL", "PATH", "SYSTEMROOT", "TMPDIR")
_ANSWER_BYTES = 32 * 2**20


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """Limits of one child: time in seconds, memory in bytes, and `file_bytes` for each file that it writes."""

    time_s: float = 25.0
    memory_bytes: int = 1024 * 2**20
    file_bytes: int = 256 * 2**20


def call_in_child(target: str, payload: dict[str, Any], context: ToolContext, limits: ChildLimits, what: str) -> Any:
    """Calls `module:function` with the payload as keywords; passes payload and result as JSON.

    Raises ToolError with the function's message, or that `what` was stopped: by cancel, deadline or a limit.
    Of the environment, the child gets only language, path and the directory for temporary files.
    """
    child = _start()
    task = {"target": target, "payload": payload, "memory": limits.memory_bytes, "file": limits.file_bytes}
    answer, log = Sink(_ANSWER_BYTES), Sink(4096)
    with ended(child):
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        _send(child, json.dumps(task).encode())
        sinks = {child.stdout.fileno(): answer, child.stderr.fileno(): log}
        tree = TreeLimits(min(limits.time_s, context.remaining_s()), limits.memory_bytes * 2, 16)
        reason = watch(child, sinks, tree, context.stopped)
    if reason:
        raise ToolError(f"{what} was stopped: {reason}. Ask for less.")
    return _answer(bytes(answer.data), bytes(log.data), what)


def _start() -> subprocess.Popen[bytes]:
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    command = [sys.executable, "-I", "-X", "utf8", "-c", _START]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, start_new_session=True)


def _send(child: subprocess.Popen[bytes], data: bytes) -> None:
    assert child.stdin is not None
    try:
        child.stdin.write(data)
        child.stdin.close()
    except BrokenPipeError:
        return  # it ended before reading; the missing answer is reported


def _answer(data: bytes, log: bytes, what: str) -> Any:
    try:
        said = json.loads(data)
    except ValueError:
        last = log.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise ToolError(f"{what} failed without an answer{': ' + last[0] if last else ''}. Ask for less.") from None
    if "error" in said:
        raise ToolError(said["error"], retryable=bool(said.get("retryable")))
    return said["value"]
