"""What tasks in a process use: settings, store, dispatcher, tools, model clients, and the worker identity."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from celery import Celery

from tools.environment import variable
from tools.registry import Registry, load_tools
from worker.agents import written_addresses
from worker.core.config import RunConfig
from worker.core.errors import StopReason
from worker.dialects import dialect
from worker.dialects.prompt import system_prompt
from worker.dispatch import Dispatcher, connect_redis
from worker.limits.endpoint_pauses import EndpointPauses
from worker.limits.learned_adaptations import Learning
from worker.limits.limiter import Limiter, limiter_client
from worker.limits.throttle import Throttle
from worker.limits.tool_limits import ToolLimits
from worker.llm.client import ModelClients
from worker.llm.prices import PriceTable
from worker.llm.watchdog import Abort
from worker.settings import Settings
from worker.store.configurations import get_configuration
from worker.store.opening import open_store
from worker.store.session import Store
from worker.tasks.identity import WorkerIdentity
from worker.tasks.turnstile import Turnstile


class InFlight:
    """The attempts that this process is working on, so that a cancel or shutdown can abort them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._aborts: dict[str, tuple[str, Abort]] = {}
        self._deadlines: dict[str, float] = {}

    @contextmanager
    def attempt(self, token: str, run_id: str, limit_s: float) -> Iterator[Abort]:
        """Registers an attempt for the duration of the block, which should take no longer than `limit_s` seconds."""
        abort = Abort()
        with self._lock:
            self._aborts[token] = (run_id, abort)
            self._deadlines[token] = time.monotonic() + limit_s
        try:
            yield abort
        finally:
            with self._lock:
                del self._aborts[token], self._deadlines[token]

    def abort_runs(self, run_ids: set[str], reason: StopReason) -> int:
        """Aborts the attempts in flight for these runs; returns how many there were."""
        return self._abort([abort for _, (run, abort) in self._snapshot() if run in run_ids], reason)

    def abort_all(self, reason: StopReason) -> int:
        return self._abort([abort for _, (_, abort) in self._snapshot()], reason)

    def tokens(self) -> dict[str, str]:
        """Returns the run of each attempt in flight, by token."""
        return {token: run for token, (run, _) in self._snapshot()}

    def overdue(self) -> int:
        """Returns how many attempts are past their limit: their threads hang and cannot be killed."""
        with self._lock:
            return sum(deadline < time.monotonic() for deadline in self._deadlines.values())

    def __len__(self) -> int:
        return len(self._aborts)

    def _snapshot(self) -> list[tuple[str, tuple[str, Abort]]]:
        with self._lock:
            return list(self._aborts.items())

    @staticmethod
    def _abort(aborts: list[Abort], reason: StopReason) -> int:
        return sum(abort.abort(reason) for abort in aborts)


def no_wake() -> None:
    """Does nothing: used in processes without an admitter, since other processes admit."""


@dataclass
class Runtime:
    """Everything that a task needs. There is one per process, shared by its threads."""

    settings: Settings
    store: Store
    dispatcher: Dispatcher
    registry: Registry
    clients: ModelClients
    prices: PriceTable
    identity: WorkerIdentity
    in_flight: InFlight = field(default_factory=InFlight)
    wake_admitter: Callable[[], None] = no_wake
    draining: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.turnstile = Turnstile()
        self.pauses = EndpointPauses(self.store)
        self.learning = Learning(self.store)
        shared = limiter(self.settings)
        self.throttle = Throttle(shared, self.pauses, self.store)
        self.tool_limits = ToolLimits(shared, self.dispatcher.redis)
        # Configurations never change, and a few serve thousands of runs.
        self.configuration = functools.lru_cache(maxsize=256)(self._load_configuration)
        self.system_prompt = functools.lru_cache(maxsize=256)(self._render_system_prompt)

    def _render_system_prompt(self, digest: str) -> str:
        config = self.configuration(digest)
        return system_prompt(dialect(config.dialect), self.registry.known(config.tools), config.instructions)

    def _load_configuration(self, digest: str) -> RunConfig:
        return get_configuration(self.store, digest)


def limiter(settings: Settings) -> Limiter:
    """Returns the fleet's limiter, with a Redis client that never repeats a command."""
    return Limiter(limiter_client(settings.redis))


def build_runtime(settings: Settings, app: Celery) -> Runtime:
    """Builds what a process needs. Connections are opened at first use."""
    return Runtime(
        settings=settings,
        store=open_store(settings.database, settings.db_pool),
        dispatcher=Dispatcher(app, connect_redis(settings.redis)),
        registry=load_tools(settings.tool_modules),
        clients=ModelClients(variable, lambda: written_addresses(settings), max_connections=400),
        prices=PriceTable.load(settings.prices_file),
        identity=WorkerIdentity.from_environment(),
    )
