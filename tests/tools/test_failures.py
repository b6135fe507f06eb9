"""Whatever a tool raises is reported to the model; exceptions that signals and pools raise in it pass through."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from billiard.common import _shutdown_cleanup
from celery.exceptions import SoftTimeLimitExceeded, WorkerShutdown

from tools.base import Tool, ToolContext, ToolCrashed, ToolError, ToolFailure, tool


def raising(work: Callable[[], Any]) -> Tool:
    def broken() -> str:
        """Breaks."""
        return str(work())

    return tool(broken)


def raising_later(work: Callable[[], Any]) -> Tool:
    async def broken() -> str:
        """Breaks after a while."""
        await asyncio.sleep(0)
        return str(work())

    return tool(broken)


def throw(error: BaseException) -> Callable[[], Any]:
    def work() -> Any:
        raise error

    return work


def told(of: Tool, context: ToolContext | None = None) -> str:
    with pytest.raises(ToolFailure) as caught:
        of.call({}, context)
    return caught.value.message


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class OwnBase(BaseException):
    pass


class Careless(ToolError):
    def __init__(self, code: int) -> None:
        self.code = code


def _parse(text: str) -> Callable[[], Any]:
    def work() -> Any:
        parser = argparse.ArgumentParser(prog="convert", description="Converts files.")
        parser.add_argument("--width", type=int, required=True)
        return parser.parse_args(text.split())

    return work


def _exit_after_an_error() -> Any:
    try:
        raise FileNotFoundError("no such profile: night")
    except FileNotFoundError:
        sys.exit(3)


def _warn() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.warn("old way", DeprecationWarning, stacklevel=1)


def _deep_group() -> BaseException:
    error: Exception = ConnectionRefusedError("db.example:5432 refused")
    for _ in range(3):
        error = ExceptionGroup("unhandled errors in a TaskGroup", [error, ValueError("bad page")])
    return error


@pytest.mark.parametrize("make", [raising, raising_later])
@pytest.mark.parametrize(
    ("work", "said"),
    [
        (throw(asyncio.CancelledError("inner scope")), "broken failed with CancelledError: inner scope."),
        (throw(SystemExit()), "SystemExit: exit code 0."),
        (throw(SystemExit(4)), "SystemExit: exit code 4."),
        (throw(SystemExit("usage: prog FILE")), "SystemExit: usage: prog FILE."),
        (_exit_after_an_error, "SystemExit: exit code 3: FileNotFoundError: no such profile: night."),
        (throw(KeyboardInterrupt()), "broken failed with KeyboardInterrupt."),
        (throw(GeneratorExit()), "broken failed with GeneratorExit."),
        (throw(OwnBase("mine")), "broken failed with OwnBase: mine."),
        (throw(MemoryError()), "broken failed with MemoryError."),
        (throw(Unspeakable()), "Unspeakable: (it cannot be shown: its text fails with RuntimeError)."),
        (throw(ValueError("y" * 5_000_000)), "4,996,000 characters left out"),
        (throw(_deep_group()), "ConnectionRefusedError: db.example:5432 refused; ValueError: bad page;"),
        (throw(BaseExceptionGroup("", [SystemExit(1)])), "SystemExit: exit code 1."),
        (throw(ExceptionGroup("", [ValueError(str(n)) for n in range(20)])), "ValueError: 7; and 12 more."),
        (throw(ExceptionGroup("", [ToolError("try Paris")])), "try Paris"),
        (throw(ToolError(ValueError("seven"))), "seven"),
        (throw(Careless(7)), "The tool failed and said nothing."),
        (_warn, "DeprecationWarning: old way."),
        (_parse("--width x"), "argument --width: invalid int value: 'x'. usage: convert [-h] --width WIDTH."),
        (_parse("--size 3"), "the following arguments are required: --width. usage: convert [-h] --width WIDTH."),
        (_parse("--help"), "Converts files."),
    ],
)
def test_whatever_a_tool_raises_is_told_to_the_model(make: Any, work: Callable[[], Any], said: str) -> None:
    message = told(make(work))
    assert said in message
    assert len(message) < 8_200


def test_only_failures_of_the_network_and_the_system_are_worth_another_try() -> None:
    for error, worth in (
        (ExceptionGroup("", [ConnectionError("a"), TimeoutError("b")]), True),
        (ExceptionGroup("", [ConnectionError("a"), ValueError("b")]), False),
        (SystemExit(1), False),
    ):
        with pytest.raises(ToolCrashed) as caught:
            raising(throw(error)).call({})
        assert caught.value.retryable is worth


def test_recursion_without_end_is_told() -> None:
    def work() -> Any:
        return work()

    assert "RecursionError" in told(raising(work))


@pytest.mark.parametrize("make", [raising, raising_later])
@pytest.mark.parametrize(
    "work",
    [throw(SoftTimeLimitExceeded()), throw(ExceptionGroup("", [SoftTimeLimitExceeded(), ValueError()]))],
)
def test_a_soft_time_limit_passes_through_also_out_of_a_group(make: Any, work: Callable[[], Any]) -> None:
    with pytest.raises(SoftTimeLimitExceeded):
        make(work).call({})


def test_the_end_of_the_worker_passes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WorkerShutdown):
        raising(throw(WorkerShutdown(0))).call({})
    monkeypatch.setattr("billiard.common._should_have_exited", [False])
    before = signal.signal(signal.SIGTERM, _shutdown_cleanup)
    try:
        with pytest.raises(SystemExit, match="-241"):
            raising(lambda: os.kill(os.getpid(), signal.SIGTERM)).call({})
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("make", [raising, raising_later])
def test_a_real_interrupt_passes_through_and_its_handler_is_put_back(make: Any) -> None:
    def work() -> Any:
        signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        make(work).call({})
    assert signal.getsignal(signal.SIGINT) is before


def test_a_tool_that_ignores_its_cancel_or_waits_in_a_thread_does_not_hold_the_call() -> None:
    release = threading.Event()

    @tool
    async def stubborn(how: str) -> str:
        """Does not stop."""
        if how == "thread":
            return str(await asyncio.to_thread(release.wait, 60))
        while not release.is_set():
            try:
                await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                continue
        return "late"

    for how in ("thread", "loop"):
        started = time.monotonic()
        with pytest.raises(ToolError, match="out of time"):
            stubborn.call(how, ToolContext(deadline=time.monotonic() + 0.1))
        assert time.monotonic() - started < 10
    release.set()


def test_what_a_tool_leaves_on_its_loop_ends_with_the_call() -> None:
    ended: list[str] = []

    @tool
    async def leaving() -> str:
        """Leaves a task."""

        async def work() -> None:
            try:
                await asyncio.sleep(60)
            finally:
                ended.append("yes")

        ended.append(str(asyncio.ensure_future(work()))[:0])
        await asyncio.sleep(0)
        return "done"

    assert leaving.call({}).observation == "done"
    assert ended == ["", "yes"]


def test_an_interrupted_program_that_calls_a_tool_ends(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, time\nsys.path.insert(0, sys.argv[1])\nfrom tools.base import tool\n"
        "@tool\ndef wait() -> str:\n    'Waits.'\n    print('up', flush=True)\n    time.sleep(60)\n    return ''\n"
        "wait.call({})\n"
    )
    root = str(Path(__file__).resolve().parents[2])
    with subprocess.Popen([sys.executable, str(script), root], stdout=-1, stderr=-1, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in process.communicate(timeout=20)[1]
    assert process.returncode == -signal.SIGINT
