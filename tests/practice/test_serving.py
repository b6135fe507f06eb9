"""Starting and stopping the server: in a thread, as a command, on a used port, by an interrupt."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from tests.practice.clients import client_of
from tests.practice.conversations import opening
from tests.services.process import free_port
from tests.services.waiting import wait_until
from worker.cli.simulate import simulate_command
from worker.practice import Config, Control, serve


@contextmanager
def command(*options: str) -> Iterator[tuple[subprocess.Popen[str], Control]]:
    """The command as a process of its own, once it has said where it listens."""
    argv = [sys.executable, "-m", "worker.cli.simulate", "--port", "0", *options]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.search(r"(http://[\d.]+:\d+)/v1", line)
        assert address, line
        try:
            yield process, Control(address[1])
        finally:
            process.kill()


def test_a_server_in_a_thread_leaves_nothing_behind() -> None:
    with serve() as control, client_of(control) as client:
        client.chat.completions.create(**opening("What is 3 + 4?"))
        host, port = control.url.removeprefix("http://").split(":")
    assert not [thread for thread in threading.enumerate() if thread.name == "practice-model"]
    with socket.socket() as probe:
        assert probe.connect_ex((host, int(port))) != 0


def test_a_server_ends_while_requests_wait() -> None:
    errors: list[Exception] = []

    def ask(control: Control) -> None:
        try:
            with client_of(control) as client:
                client.chat.completions.create(**opening("What is 3 + 4?"))
        except Exception as error:  # any error will do: the server went away
            errors.append(error)

    with serve(Config(latency="60")) as control:
        thread = threading.Thread(target=ask, args=(control,))
        thread.start()
        wait_until("the request is in flight", lambda: control.stats()["in_flight"] == 1)
    thread.join(5)
    assert len(errors) == 1


def test_a_taken_port_is_an_error_at_start() -> None:
    with serve() as control, pytest.raises(OSError, match="in use"), serve(port=int(control.url.rpartition(":")[2])):
        pytest.fail("two servers cannot share a port")


def test_the_command_serves_with_its_options() -> None:
    with command("--latency", "uniform:0,0.01", "--fault", "429:1,times=1", "--rpm", "100") as (_, control):
        settings = control.control()
        assert settings["latency"] == "uniform:0,0.01"
        assert settings["faults"] == [{"kind": "rate_limit", "rate": 1.0, "times": 1, "seconds": 0.2}]
        assert settings["limits"]["rpm"] == 100


@pytest.fixture
def heeded_ctrl_c() -> Iterator[None]:
    """Programs that are started meanwhile heed it. In a shell's background job they inherit that it is ignored."""
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, inherited)


@pytest.mark.usefixtures("heeded_ctrl_c")
def test_ctrl_c_ends_the_command_quietly_with_130() -> None:
    with command() as (process, _):
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=10)
    assert (process.returncode, errors) == (130, "")


def test_sigterm_ends_the_command_quietly_with_0() -> None:
    with command() as (process, _):
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=10)
    assert (process.returncode, errors) == (0, "")


def test_the_command_names_a_port_that_is_in_use_in_one_sentence() -> None:
    with serve() as control:
        port = control.url.rpartition(":")[2]
        result = CliRunner().invoke(simulate_command, ["--port", port])
    assert result.exit_code == 3
    assert result.stderr == f"Port {port} on 127.0.0.1 is in use; choose another with --port.\n"


@pytest.mark.parametrize("options", [["--latency", "soon"], ["--fault", "gremlins"], ["--fault", "429:2"]])
def test_wrong_options_are_explained(options: list[str]) -> None:
    result = CliRunner().invoke(simulate_command, ["--port", str(free_port()), *options])
    assert result.exit_code == 2
    assert "Error:" in result.stderr
    assert "Traceback" not in result.stderr


def test_it_is_light_to_import() -> None:
    code = "import time; t = time.process_time(); import worker.practice; print(time.process_time() - t)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 0.5


def test_it_imports_none_of_our_dialects_or_tools() -> None:
    code = "import sys, worker.practice; print([m for m in sys.modules if m.startswith(('worker.', 'tools', 'api'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "worker.practice.brain" in done.stdout
    assert not re.findall(r"'(?:tools|api|worker\.(?!practice))[\w.]*'", done.stdout)
