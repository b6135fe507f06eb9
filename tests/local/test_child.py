"""The wrapper around each service: what it runs never outlives its supervisor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

import worker.local.child
from tests.local.programs import ENDS_WITH_3, HAS_FAMILY, IGNORES_TERM, SAYS_READY, alive, family, python
from tests.services.waiting import wait_until

Wrapped = subprocess.Popen[bytes]


class Wrapper:
    """Starts programs under the wrapper and waits until they say that they are ready."""

    def __init__(self) -> None:
        self.started: list[Wrapped] = []

    def __call__(self, program: str, grace_s: float = 0.2) -> Wrapped:
        argv = [sys.executable, "-I", "-S", worker.local.child.__file__, str(grace_s), *python(program)]
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        self.started.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process


@pytest.fixture
def wrapped() -> Iterator[Wrapper]:
    wrapper = Wrapper()
    yield wrapper
    for process in wrapper.started:
        with process:
            assert process.stdin is not None
            process.stdin.close()


def test_the_exit_code_is_the_commands(wrapped: Wrapper) -> None:
    assert wrapped(ENDS_WITH_3).wait(timeout=10) == 3


def test_a_command_killed_by_a_signal_ends_as_in_a_shell(wrapped: Wrapper) -> None:
    process = wrapped(SAYS_READY)
    command = psutil.Process(process.pid).children()[0]
    command.kill()
    assert process.wait(timeout=10) == 128 + signal.SIGKILL


def test_a_command_that_does_not_exist_is_named() -> None:
    argv = [sys.executable, "-I", "-S", worker.local.child.__file__, "1", "/no/such/command"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=10)
    assert (done.returncode, done.stderr) == (127, "cannot start /no/such/command: No such file or directory\n")


def test_term_is_passed_on_to_the_command(wrapped: Wrapper) -> None:
    process = wrapped(SAYS_READY)
    process.terminate()
    assert process.wait(timeout=10) == 128 + signal.SIGTERM


def test_everything_ends_when_the_pipe_closes(wrapped: Wrapper) -> None:
    process = wrapped(HAS_FAMILY)
    members = family(process.pid)
    assert len(members) == 4, "the wrapper, the command, its child, and the daemon that it left behind"
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=10) == 128 + signal.SIGTERM
    wait_until("the whole family ended", lambda: not alive(members))


def test_a_command_that_ignores_term_is_killed_after_the_grace(wrapped: Wrapper) -> None:
    process = wrapped(IGNORES_TERM)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=10) == 128 + signal.SIGKILL


def test_what_a_command_left_behind_is_ended_with_it(wrapped: Wrapper) -> None:
    process = wrapped(HAS_FAMILY)
    members = family(process.pid)
    os.kill(members[1].pid, signal.SIGKILL)
    process.wait(timeout=10)
    wait_until("the whole family ended", lambda: not alive(members))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent died")
def test_the_command_dies_with_a_wrapper_that_is_killed_hard(wrapped: Wrapper) -> None:
    process = wrapped(SAYS_READY)
    command = psutil.Process(process.pid).children()
    process.kill()
    wait_until("the command ended", lambda: not alive(command))
