"""Starts services in stages, restarts those that end unexpectedly, and stops all in reverse order."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from threading import Event

from worker.local.errors import Interrupted, ServiceFailed, StackError
from worker.local.output import Console, LogFile
from worker.local.running import Running
from worker.local.service import Service

OWN_NAME = "stack"
POLL_S = 0.1
FIRST_BACKOFF_S = 0.5
LONGEST_BACKOFF_S = 30.0
STABLE_AFTER_S = 60.0


class Supervisor:
    """Owns the processes of `services`. One thread calls `start`, `watch` and `stop`; any thread may set `stopping`."""

    def __init__(self, services: Sequence[Service], log_dir: Path, console: Console | None = None) -> None:
        self.stopping = Event()
        self._services = sorted(services, key=lambda service: service.stage)
        self._console = console
        self._log_dir = log_dir
        names = [OWN_NAME, *(service.name for service in services)]
        self._logs = {name: LogFile(log_dir / f"{name}.log") for name in names}
        if console:
            console.introduce(names)
        self._running: dict[str, Running] = {}
        self._crashes: dict[str, int] = {}
        self._restart_at: dict[str, float] = {}

    def start(self) -> None:
        """Returns once every service is ready. If it raises ServiceFailed or Interrupted, nothing is left running."""
        try:
            for _, stage in groupby(self._services, key=lambda service: service.stage):
                started = [self._launch(service) for service in stage]
                for running in started:
                    self._await_ready(running)
        except BaseException:
            self.stop()
            raise

    def watch(self) -> None:
        """Keeps the services running until `stopping` is set."""
        while not self.stopping.wait(POLL_S):
            for service in self._services:
                self._look_after(service)

    def stop(self) -> None:
        """Stops all running services, last stage first. Safe to repeat."""
        for _, stage in groupby(reversed(self._services), key=lambda service: service.stage):
            self._stop_together([self._running.pop(service.name) for service in stage if service.name in self._running])
        for log in self._logs.values():
            log.close()

    def say(self, text: str) -> None:
        self._line(OWN_NAME, text)

    def _launch(self, service: Service) -> Running:
        running = Running(service, lambda text: self._line(service.name, text))
        self._running[service.name] = running
        return running

    def _await_ready(self, running: Running) -> None:
        service = running.service
        deadline = running.started_at + service.ready_timeout_s
        while not running.is_ready():
            if self.stopping.wait(POLL_S):
                raise Interrupted("stopped while starting")
            code = running.exit_code()
            if code is not None and not (service.one_shot and code == 0):
                raise self._failure(running, f"{service.name} ended with code {code} while starting")
            if time.monotonic() > deadline:
                raise self._failure(running, f"{service.name} was not ready after {service.ready_timeout_s:g} s")
        self.say(f"{service.name} is done" if service.one_shot else f"{service.name} is ready")

    def _failure(self, running: Running, what: str) -> StackError:
        last_words = next((line for line in reversed(running.last_lines) if line.strip()), "nothing")
        return ServiceFailed(f"{what}; it said: {last_words}", f"see {self._log_dir / running.service.name}.log")

    def _look_after(self, service: Service) -> None:
        """Notices that a service has ended, and restarts it after its pause. Never blocks the others."""
        running = self._running.get(service.name)
        if service.one_shot or not service.restart:
            return
        if running is None:
            if time.monotonic() >= self._restart_at[service.name]:
                self.say(f"restarting {service.name}")
                self._launch(service)
            return
        code = running.exit_code()
        if code is None:
            return
        running.end(time.monotonic())
        del self._running[service.name]
        self._plan_restart(running, code)

    def _plan_restart(self, running: Running, code: int) -> None:
        name = running.service.name
        was_stable = time.monotonic() - running.started_at >= STABLE_AFTER_S
        crashes = 1 if was_stable else self._crashes.get(name, 0) + 1
        pause_s = min(FIRST_BACKOFF_S * 2 ** (crashes - 1), LONGEST_BACKOFF_S)
        self._crashes[name] = crashes
        self._restart_at[name] = time.monotonic() + pause_s
        self.say(f"{name} ended unasked with {describe_exit(code)}; starting it again in {pause_s:g} s")

    def _stop_together(self, parts: Iterable[Running]) -> None:
        parts = list(parts)
        asked_at = time.monotonic()
        for running in parts:
            running.ask_to_stop()
        for running in sorted(parts, key=lambda part: part.service.stop_grace_s):
            if not running.end(asked_at + running.service.stop_grace_s):
                self.say(f"{running.service.name} did not stop in {running.service.stop_grace_s:g} s and was killed")

    def _line(self, name: str, text: str) -> None:
        self._logs[name].line(text)
        if self._console:
            self._console.line(name, text)


def describe_exit(code: int) -> str:
    """Describes an exit code as shells count them, or minus the signal that killed the wrapper itself."""
    number = -code if code < 0 else code - 128
    return f"signal {number}" if 0 < number < 65 else f"code {code}"
