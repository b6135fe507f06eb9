"""A temporary stack for one command: started quietly, and stopped with this process whatever ends it."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from worker.local.plan import StackPlan
from worker.local.service import Service
from worker.local.stack import compose
from worker.local.state import StackInfo, supervising, write_info
from worker.local.supervisor import Supervisor
from worker.terminal import echo

Chosen = Callable[[Service], bool]


def without_flower(service: Service) -> bool:
    """Selects everything but Flower, which a short command does not need."""
    return service.name != "flower"


def only_reading(service: Service) -> bool:
    """Selects what is needed to read the database through the API."""
    return service.name in {"database", "redis", "api"}


@contextlib.contextmanager
def temporary_stack(plan: StackPlan, chosen: Chosen = without_flower) -> Iterator[StackInfo]:
    """Starts the chosen services and stops them at the end. If it raises StackError, nothing is left running."""
    with supervising(plan.data_dir), _terminated_like_interrupted():
        info, services = compose(plan.with_ports())
        info = replace(info, addresses={name: url for name, url in info.addresses.items() if name != "Flower"})
        supervisor = Supervisor([service for service in services if chosen(service)], plan.data_dir / "logs")
        write_info(plan.data_dir, info)
        supervisor.start()
        watcher = threading.Thread(target=supervisor.watch, name="stack", daemon=True)
        watcher.start()
        try:
            write_info(plan.data_dir, replace(info, ready=True))
            yield info
        finally:
            supervisor.stopping.set()
            watcher.join()
            supervisor.stop()


@contextlib.contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """Makes SIGTERM and SIGHUP end the command like Ctrl-C, so that the stack is stopped properly."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def last_lines(log_dir: Path, services: Sequence[str], count: int = 3) -> None:
    """Prints the last output of these services on standard error."""
    for service in services:
        path = log_dir / f"{service}.log"
        if path.exists():
            for line in path.read_text(errors="replace").splitlines()[-count:]:
                echo(f"{service}: {line}", err=True)
