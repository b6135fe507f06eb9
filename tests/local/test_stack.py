"""A whole stack in its own process: inspected, stopped, detached, killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local.programs import alive, family
from tests.services.waiting import wait_until
from worker.local.detach import start_detached
from worker.local.errors import AlreadyRunning, PortInUse, ServiceFailed, StackError
from worker.local.plan import StackPlan
from worker.local.ports import free_port
from worker.local.stack import up
from worker.local.state import StackInfo, down, own_info, read_info, running_stack, supervising, write_info

LITTLE_STACK = [sys.executable, "-m", "tests.local.programs"]


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[StackInfo]:
    """A detached stack of a real Redis and a program with a family."""
    info = start_detached([*LITTLE_STACK, str(tmp_path)], tmp_path, timeout_s=30)
    members = family(info.pid)
    yield info
    if info.is_alive():
        os.kill(info.pid, signal.SIGTERM)
    wait_until("nothing of the stack runs", lambda: not alive(members), timeout_s=20)


def test_a_detached_stack_is_ready_when_the_call_returns(stack: StackInfo, tmp_path: Path) -> None:
    assert stack.ready
    assert running_stack(tmp_path) == stack
    names = {one.name() for one in family(stack.pid)}
    assert "redis-server" in names
    assert os.getsid(stack.pid) == stack.pid, "it does not end with the terminal"


def test_down_stops_everything_and_forgets_it(stack: StackInfo, tmp_path: Path) -> None:
    members = family(stack.pid)
    assert down(tmp_path)
    assert not alive(members)
    assert running_stack(tmp_path) is None
    assert read_info(tmp_path) is None
    assert not down(tmp_path)


def test_a_stack_killed_hard_leaves_no_process(stack: StackInfo, tmp_path: Path) -> None:
    members = family(stack.pid)
    assert len(members) >= 7, "supervisor, two wrappers, Redis, the program, its child, its daemon"
    os.kill(stack.pid, signal.SIGKILL)
    wait_until("nothing of the stack runs", lambda: not alive(members), timeout_s=10)
    assert running_stack(tmp_path) is None
    with supervising(tmp_path):
        assert running_stack(tmp_path) == own_info(), "the directory is free for the next stack"


def test_a_second_stack_in_one_directory_says_what_runs(stack: StackInfo, tmp_path: Path) -> None:
    with pytest.raises(AlreadyRunning, match=rf"a stack runs already in {tmp_path} \(pid {stack.pid}\)"):
        up(StackPlan(tmp_path, "sqlite://"))
    with pytest.raises(ServiceFailed, match="runs already"):
        start_detached([*LITTLE_STACK, str(tmp_path)], tmp_path, timeout_s=30)
    assert stack.is_alive()


def test_ctrl_c_stops_a_stack_in_the_foreground(tmp_path: Path) -> None:
    argv = [*LITTLE_STACK, str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        wait_until("it is ready", lambda: (info := running_stack(tmp_path)) and info.ready)
        members = family(process.pid)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=20)
    assert process.returncode == 0, output
    assert "family | ready" in output
    assert "stack  | redis is ready" in output
    assert not alive(members)


def test_a_port_in_use_is_named_with_its_holder_before_anything_starts(tmp_path: Path) -> None:
    port = free_port()
    listen = f"import socket; s = socket.create_server(('127.0.0.1', {port})); print(flush=True); s.accept()"
    with subprocess.Popen([sys.executable, "-c", listen], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        named = rf"port {port}, wanted for Flower, is in use by python\S* \(pid {holder.pid}\)"
        with pytest.raises(PortInUse, match=named):
            up(StackPlan(tmp_path, "sqlite://", flower_port=port, api_port=0))
        holder.kill()
    assert running_stack(tmp_path) is None
    assert not (tmp_path / "logs").exists(), "no part was started"


def test_a_state_file_of_a_process_that_is_gone_is_not_believed(tmp_path: Path) -> None:
    write_info(tmp_path, StackInfo(pid=os.getpid(), started_at=1.0, ready=True))
    assert running_stack(tmp_path) is None
    assert not down(tmp_path)


def test_the_state_file_is_private(tmp_path: Path) -> None:
    write_info(tmp_path, own_info())
    assert (tmp_path / "stack.json").stat().st_mode & 0o777 == 0o600


def test_a_state_file_that_is_not_ours_is_named(tmp_path: Path) -> None:
    (tmp_path / "stack.json").write_text("[]")
    with pytest.raises(StackError, match=r"stack\.json cannot be read"):
        read_info(tmp_path)


def test_a_detached_command_that_fails_tells_its_last_words(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", "raise SystemExit('the moon is in the wrong phase')"]
    with pytest.raises(ServiceFailed, match="the moon is in the wrong phase"):
        start_detached(argv, tmp_path)


def test_a_detached_command_that_was_refused_passes_its_sentence_and_hint_on_as_they_are(tmp_path: Path) -> None:
    printed = "print('Error: Port 1 is in use.'); print('Hint: Choose another.'); raise SystemExit(2)"
    with pytest.raises(StackError, match=r"^Port 1 is in use\.$") as refused:
        start_detached([sys.executable, "-c", printed], tmp_path)
    assert refused.value.hint == "Choose another."
    assert not isinstance(refused.value, ServiceFailed), "that is wrong use, not a service that failed"
