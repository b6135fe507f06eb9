"""The supervisor starts services in order, restarts those that fail, and leaves nothing behind."""

from __future__ import annotations

import io
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.local.programs import ENDS_WITH_3, HAS_CHILD, IGNORES_TERM, SAYS_READY, alive, family, python
from tests.services.waiting import wait_until
from worker.local.errors import Interrupted, ServiceFailed
from worker.local.output import Console
from worker.local.service import Service
from worker.local.supervisor import Supervisor, describe_exit

READY = re.compile("ready")
Started = Callable[[], list[psutil.Process]]


def service(name: str, program: str, *args: str, **options: object) -> Service:
    return Service(name, python(program, *args), **{"ready_line": READY, **options})  # type: ignore[arg-type]


@pytest.fixture
def started() -> Started:
    """Says which children this process has that it did not have when the test began."""
    before = set(psutil.Process().children())
    return lambda: [one for one in alive(psutil.Process().children()) if one not in before]


@contextmanager
def watched(supervisor: Supervisor) -> Iterator[None]:
    """A supervisor that has started its services and looks after them."""
    supervisor.start()
    thread = threading.Thread(target=supervisor.watch)
    thread.start()
    try:
        yield
    finally:
        supervisor.stopping.set()
        thread.join()
        supervisor.stop()


def test_a_stage_starts_when_the_one_before_is_ready(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    first = service("first", "import sys, pathlib; pathlib.Path(sys.argv[1]).touch()", str(mark), one_shot=True)
    checks = f"import sys, os; print('late' if os.path.exists(sys.argv[1]) else 'early'); {SAYS_READY}"
    second = service("second", checks, str(mark), stage=1)
    out = io.StringIO()
    supervisor = Supervisor([second, first], tmp_path / "logs", Console(out))
    supervisor.start()
    supervisor.stop()
    assert "second | late" in out.getvalue()
    assert out.getvalue().index("first is done") < out.getvalue().index("second is ready")


def test_a_service_that_ends_while_starting_fails_the_start_and_says_why(tmp_path: Path, started: Started) -> None:
    fine, broken = service("fine", SAYS_READY), service("broken", ENDS_WITH_3, stage=1)
    supervisor = Supervisor([fine, broken], tmp_path)
    with pytest.raises(ServiceFailed, match="broken ended with code 3 while starting; it said: out of cheese"):
        supervisor.start()
    assert not started()


def test_a_service_that_is_not_ready_in_time_fails_the_start(tmp_path: Path, started: Started) -> None:
    slow = Service("slow", python(SAYS_READY), health=lambda: False, ready_timeout_s=0.3)
    with pytest.raises(ServiceFailed, match=r"slow was not ready after 0\.3 s"):
        Supervisor([slow], tmp_path).start()
    assert not started()


def test_a_stop_while_starting_is_heeded(tmp_path: Path, started: Started) -> None:
    supervisor = Supervisor([Service("slow", python(SAYS_READY), health=lambda: False)], tmp_path)
    supervisor.stopping.set()
    with pytest.raises(Interrupted):
        supervisor.start()
    assert not started()


def test_a_crashed_part_is_started_again_and_said_so(tmp_path: Path, started: Started) -> None:
    out = io.StringIO()
    supervisor = Supervisor([service("part", SAYS_READY)], tmp_path, Console(out))
    with watched(supervisor):
        [first] = started()
        os.kill(first.children()[0].pid, signal.SIGKILL)
        wait_until("it runs again", lambda: out.getvalue().count("part  | ready") == 2)
        assert started() != [first]
    assert "part ended unasked with signal 9; starting it again in 0.5 s" in out.getvalue()
    assert not started()


def test_a_part_that_crashes_again_and_again_waits_longer_each_time(tmp_path: Path) -> None:
    out = io.StringIO()
    flaky = service("flaky", "print('ready', flush=True); raise SystemExit(1)", health=lambda: True)
    with watched(Supervisor([flaky], tmp_path, Console(out))):
        wait_until("it crashed three times", lambda: "again in 2 s" in out.getvalue())
    assert re.findall(r"again in (\S+) s", out.getvalue()) == ["0.5", "1", "2"]


def test_a_wrapper_that_is_killed_hard_takes_its_service_along(tmp_path: Path, started: Started) -> None:
    with watched(Supervisor([service("family", HAS_CHILD)], tmp_path)):
        [wrapper] = started()
        members = family(wrapper.pid)
        assert len(members) == 3
        wrapper.kill()
        wait_until("they ended", lambda: not alive(members))


def test_parts_stop_in_reverse_order(tmp_path: Path) -> None:
    says_when = "import signal, sys; signal.signal(15, lambda *_: sys.exit(print('stops', flush=True))); " + SAYS_READY
    out = io.StringIO()
    supervisor = Supervisor([service(f"part{n}", says_when, stage=n) for n in range(3)], tmp_path, Console(out))
    supervisor.start()
    supervisor.stop()
    assert re.findall(r"(part\d) \| stops", out.getvalue()) == ["part2", "part1", "part0"]


def test_a_part_that_ignores_the_stop_signal_is_killed_after_its_grace(tmp_path: Path, started: Started) -> None:
    out = io.StringIO()
    supervisor = Supervisor([service("deaf", IGNORES_TERM, stop_grace_s=0.2)], tmp_path, Console(out))
    supervisor.start()
    supervisor.stop()
    assert "deaf did not stop in 0.2 s and was killed" in out.getvalue()
    assert not started()


def test_output_goes_to_the_services_own_log(tmp_path: Path) -> None:
    supervisor = Supervisor([service("part", SAYS_READY)], tmp_path)
    supervisor.start()
    supervisor.stop()
    assert (tmp_path / "part.log").read_text() == "ready\n"


@pytest.mark.parametrize(("code", "words"), [(3, "code 3"), (137, "signal 9"), (-9, "signal 9"), (255, "code 255")])
def test_exit_codes_are_told_in_words(code: int, words: str) -> None:
    assert describe_exit(code) == words
