"""Programs that try to escape, to starve the machine, or to lie about what happened: each is contained."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.tools.escapes import ATTEMPT, BOUNDED_HOARDS, FLOODS, HOARDS, PYTHON_ESCAPES
from tools.base import MemoryArtifacts, ToolContext, ToolError
from tools.isolation.launching import Launch, run_isolated
from tools.isolation.limits import ResourceLimits
from tools.isolation.mechanism import BUBBLEWRAP, NAMESPACES, command_prefix_for, mechanism
from tools.python_executor import python_executor

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="isolation is Linux only; elsewhere the tool refuses")

SECRET = "sk-the-workers-own-secret"
MECHANISMS = [name for name in (NAMESPACES, BUBBLEWRAP) if mechanism(name) == name]


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, object]]:
    """A file, a port, an abstract socket and a secret of the host, to be reached for."""
    host_file = tmp_path_factory.mktemp("host") / "secret.txt"
    host_file.write_text(SECRET)
    os.environ["WORKERS_API_KEY"] = SECRET
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0stepmill-{os.getpid()}")
        abstract.listen()
        yield {
            "host_file": host_file,
            "port": server.getsockname()[1],
            "abstract": f"stepmill-{os.getpid()}",
            "secret": SECRET[:5] + "'+'" + SECRET[5:],
            "worker_pid": os.getpid(),
            "home": Path.home(),
        }
    del os.environ["WORKERS_API_KEY"]


def test_at_least_one_isolation_works_here() -> None:
    assert MECHANISMS, "no isolation works on this machine: install bubblewrap or allow user namespaces"


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("escape", PYTHON_ESCAPES)
def test_an_escape_is_held(name: str, escape: str, surroundings: dict[str, object]) -> None:
    body = PYTHON_ESCAPES[escape].format(**surroundings)
    code = ATTEMPT.format(body=f"    {body}")
    outcome = run_isolated(Launch(name, code, ResourceLimits(time_s=10), command_prefix_for(name)), lambda: None)
    assert outcome.failure is None
    assert outcome.error is None
    assert outcome.output.startswith("HELD"), outcome.output
    assert SECRET not in outcome.output


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_or_a_lie_is_bounded_and_told(flood: str) -> None:
    code, said = FLOODS[flood]
    started = time.monotonic()
    allowed_s = 1 if said == "out of time" else 25
    try:
        observation = python_executor.call({"code": code}, ToolContext(deadline=started + allowed_s)).observation
    except ToolError as error:
        observation = error.message
    assert said in observation
    assert len(observation) < 9_000
    assert time.monotonic() - started < allowed_s + 4
    assert python_executor.call({"code": "1"}).observation == "1"


def test_memory_is_bounded_over_all_processes_of_a_program_together() -> None:
    code = (
        "import os, time\nfor _ in range(8):\n    if os.fork() == 0:\n        break\nx = b'x' * 2**26\ntime.sleep(60)"
    )
    limits = ResourceLimits(time_s=60, tree_memory=256 * 2**20)
    outcome = run_isolated(Launch(MECHANISMS[0], code, limits, command_prefix_for(MECHANISMS[0])), lambda: None)
    assert outcome.stopped == "out of memory"


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("hoard", HOARDS)
def test_what_a_program_makes_the_kernel_hold_counts_as_its_memory(name: str, hoard: str) -> None:
    code, reason = HOARDS[hoard]
    limits = ResourceLimits(time_s=20, tree_memory=700 * 2**20)  # forty small processes take less
    outcome = run_isolated(Launch(name, code, limits, command_prefix_for(name)), lambda: None)
    assert outcome.stopped == reason, outcome


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("hoard", BOUNDED_HOARDS)
def test_what_is_not_counted_is_bounded_by_the_kernel(name: str, hoard: str) -> None:
    code, at_most = BOUNDED_HOARDS[hoard]
    outcome = run_isolated(Launch(name, code, ResourceLimits(time_s=20), command_prefix_for(name)), lambda: None)
    assert outcome.finished, outcome
    assert 0 < int(outcome.output) <= at_most


def test_a_forged_report_changes_nothing_but_the_programs_own_words() -> None:
    forged = '{"exit": 0, "result": "{}", "files": [["../../etc/owned", 3]]}\\nabc'
    code = f"""
import os
for n in range(3, 64):
    try:
        os.write(n, b'{forged}')
    except OSError:
        pass
os._exit(0)
"""
    artifacts = MemoryArtifacts()
    said = python_executor.call({"code": code}, ToolContext(artifacts=artifacts)).observation
    assert artifacts.files == {}
    assert "owned" not in said


def test_a_program_dies_with_the_worker_that_started_it() -> None:
    worker = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from tools.python_executor import python_executor\n"
        "python_executor.call({'code': 'import os, time; os.fork(); time.sleep(60)'})"
    )
    root = str(Path(__file__).resolve().parents[2])
    process = subprocess.Popen([sys.executable, "-c", worker, root])
    parent = psutil.Process(process.pid)
    _until(lambda: len(parent.children(recursive=True)) >= 4, "the program and its fork run")
    descendants = parent.children(recursive=True)
    process.kill()
    process.wait()
    _until(
        lambda: not any(child.is_running() and child.status() != "zombie" for child in descendants), "all of it ended"
    )
    assert process.returncode == -9


def _until(condition: Callable[[], bool], what: str, limit_s: float = 10.0) -> None:
    ends = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < ends, f"waited {limit_s} s in vain until {what}"
        time.sleep(0.02)
