"""A service as a process: started under its wrapper, its output read, stopped with all its descendants."""

from __future__ import annotations

import collections
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil

import worker.local.child
from worker.local.service import Service

ORPHAN_GRACE_S = 2.0
LINE_LIMIT = 65_536
KEPT_LINES = 20
POLL_S = 0.05


class Running:
    """A started service. `on_line` is called with each line of its output, in a thread."""

    def __init__(self, service: Service, on_line: Callable[[str], None]) -> None:
        self.service = service
        self.started_at = time.monotonic()
        self.last_lines: collections.deque[str] = collections.deque(maxlen=KEPT_LINES)
        self._said_ready = threading.Event()
        wrapper = [sys.executable, "-I", "-S", str(Path(worker.local.child.__file__)), str(ORPHAN_GRACE_S)]
        self._process = subprocess.Popen(
            [*wrapper, *service.argv],
            env={**os.environ, "PYTHONUNBUFFERED": "1", **service.env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # In its own session, so that Ctrl-C reaches only the supervisor, and so that the session can be killed.
            start_new_session=True,
        )
        self._reader = threading.Thread(
            target=self._read, args=(on_line,), name=f"output of {service.name}", daemon=True
        )
        self._reader.start()

    @property
    def pid(self) -> int:
        """The process id of the wrapper."""
        return self._process.pid

    def exit_code(self) -> int | None:
        """The exit code; None while the service runs."""
        return self._process.poll()

    def is_ready(self) -> bool:
        if self.service.one_shot:
            return self.exit_code() == 0
        if self.service.health is not None:
            return self.service.health()
        return self.service.ready_line is None or self._said_ready.is_set()

    def ask_to_stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(self.service.stop_signal)

    def end(self, deadline: float) -> bool:
        """Waits until `deadline` (monotonic), then kills all its processes. Returns False if it had to kill."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, deadline - time.monotonic()))
        in_time = self._process.poll() is not None
        kill_session(self.pid)
        self._process.wait()
        self._reader.join(timeout=2)
        if self._process.stdin:
            self._process.stdin.close()
        return in_time

    def _read(self, on_line: Callable[[str], None]) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            while raw := output.readline(LINE_LIMIT):
                text = raw.decode(errors="replace").rstrip("\r\n")
                self.last_lines.append(text)
                if self.service.ready_line and self.service.ready_line.search(text):
                    self._said_ready.set()
                on_line(text)


def kill_session(session: int) -> None:
    """Kills the processes of a session until none is left."""
    while members := [pid for pid in psutil.pids() if in_session(pid, session)]:
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(POLL_S)


def in_session(pid: int, session: int) -> bool:
    try:
        return os.getsid(pid) == session and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except (ProcessLookupError, PermissionError, psutil.Error):
        return False
