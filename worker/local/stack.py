"""`up` in the foreground: one supervisor for everything, from taking the lock to the end of the last process."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from worker.local.errors import Interrupted, PortInUse
from worker.local.output import Console
from worker.local.plan import StackPlan, addresses, embedded_services, environment
from worker.local.ports import require_free
from worker.local.redis_server import private_redis
from worker.local.service import Service
from worker.local.state import STATE_FILE, StackInfo, own_info, supervising, write_info
from worker.local.supervisor import Supervisor

FORMER_STACK_ENDS_WITHIN_S = 6.0


def up(plan: StackPlan, console: Console | None = None, on_ready: Callable[[StackInfo], None] | None = None) -> None:
    """Starts everything, calls `on_ready`, and returns when SIGINT or SIGTERM has stopped everything.

    If it raises a StackError (AlreadyRunning, PortInUse, ServiceFailed), nothing is left running.
    """
    data_dir = plan.data_dir
    former = (data_dir / STATE_FILE).exists()
    with supervising(data_dir):
        require_free_ports(plan.fixed_ports(), patience_s=FORMER_STACK_ENDS_WITHIN_S if former else 0.0)
        info, services = compose(plan.with_ports())
        run_services(services, info, data_dir, console, on_ready)


def run_services(
    services: Sequence[Service],
    info: StackInfo,
    data_dir: Path,
    console: Console | None = None,
    on_ready: Callable[[StackInfo], None] | None = None,
) -> None:
    """Does the part of `up` that needs the addresses; called within `supervising`."""
    supervisor = Supervisor(services, data_dir / "logs", console)
    with stopped_by_signals(supervisor), contextlib.suppress(Interrupted):
        write_info(data_dir, info)
        supervisor.start()
        try:
            info = replace(info, ready=True)
            write_info(data_dir, info)
            if on_ready:
                on_ready(info)
            supervisor.watch()
        finally:
            supervisor.stop()


def compose(plan: StackPlan) -> tuple[StackInfo, list[Service]]:
    """Chooses the addresses, and returns them with the services that will use them."""
    services: list[Service] = []
    redis_url = plan.redis_url
    if redis_url is None:
        redis, service = private_redis(plan.data_dir)
        redis_url = redis.url
        services.append(service)
    env = environment(plan, redis_url)
    info = replace(
        own_info(),
        practice=plan.practice,
        addresses=addresses(plan),
        environment=env,
        log_dir=str((plan.data_dir / "logs").absolute()),
    )
    return info, services + embedded_services(plan, env)


def require_free_ports(wanted: dict[str, int], patience_s: float) -> None:
    """Raises PortInUse. Services of a killed stack get `patience_s` seconds to end themselves."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return require_free(wanted)
        except PortInUse:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


@contextlib.contextmanager
def stopped_by_signals(supervisor: Supervisor) -> Iterator[None]:
    """Inside the block, SIGINT, SIGTERM and SIGHUP make the supervisor stop; further signals change nothing."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    former = {number: signal.signal(number, lambda *_: supervisor.stopping.set()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
