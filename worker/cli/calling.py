"""Calls a tool by hand as a worker would: past its time limit it is ended, with every process it started."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from tools.base import Tool, ToolContext, ToolError, ToolFailure
from tools.kit.process_tree import kill_descendants
from worker.cli.errors import EXIT_FAILED
from worker.core.records import JsonObject
from worker.terminal import echo

SOFT_MARGIN_S, HARD_MARGIN_S = 1.0, 5.0
"""A worker interrupts a tool this long after its limit, and kills it this much later."""


def call_by_hand(tool: Tool, args: JsonObject | str) -> int:
    """Prints what a model would read and returns the exit code; the tool's own output goes to standard error."""
    before = set(threading.enumerate())
    context = ToolContext(deadline=time.monotonic() + tool.timeout_s)
    try:
        with contextlib.redirect_stdout(_Aside()), contextlib.redirect_stderr(_Aside()), _limited(tool):
            observation = tool.call(args, context).observation
    except ToolFailure as failure:
        echo(failure.message, fg="red", err=True)
        return _leave(EXIT_FAILED, before)
    echo(observation)
    return _leave(0, before)


class _Aside(io.TextIOBase):
    """Sends what a tool prints to standard error, made safe for a terminal like its result."""

    def __init__(self) -> None:
        self._stream = sys.stderr

    def write(self, text: str) -> int:
        echo(text, nl=False, file=self._stream)
        return len(text)


@contextlib.contextmanager
def _limited(tool: Tool) -> Iterator[None]:
    """Raises ToolError in the tool past its limit. If the tool ignores that, ends this process."""
    said = f"{tool.name} did not finish within {tool.timeout_s:g} s."

    def interrupt(_number: int, _frame: Any) -> None:
        raise ToolError(said)

    killer = threading.Timer(tool.timeout_s + SOFT_MARGIN_S + HARD_MARGIN_S, _end, [said])
    killer.daemon = True
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, tool.timeout_s + SOFT_MARGIN_S)
    killer.start()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        killer.cancel()


def _end(said: str) -> None:
    os.write(2, f"{said} It did not let itself be interrupted and was killed.\n".encode())
    kill_descendants()
    os._exit(EXIT_FAILED)


def _leave(code: int, before: set[threading.Thread]) -> int:
    """Exits at once if the tool left threads behind, which would keep the command from ending."""
    if any(not thread.daemon for thread in set(threading.enumerate()) - before):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code
