"""The objects that every endpoint works with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Protocol

from fastapi import Depends, Request

from api.scores import Scores
from tools.registry import Registry
from worker.agents import Agents
from worker.core.config import RunConfig
from worker.core.work_messages import WorkMessage
from worker.llm.prices import PriceTable
from worker.settings import Settings
from worker.store.configurations import get_configuration
from worker.store.session import Store


class Sender(Protocol):
    """Sends work messages and tells workers to stop; implemented by `worker.dispatch.Dispatcher`."""

    def send(self, work_messages: Sequence[WorkMessage]) -> None: ...

    def abort(self, run_ids: Iterable[str]) -> None: ...

    def changed(self, run_ids: Iterable[str]) -> None: ...

    def heard(self) -> Iterator[Sequence[str]]: ...

    def lengths(self, queues: Iterable[str]) -> dict[str, int]: ...

    def check_room(self) -> None: ...


class Admits(Protocol):
    """Who fills free slots; `worker.admitter.Admitter` is one."""

    def wake(self) -> None: ...

    def admit_soon(self) -> None: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


@dataclass(frozen=True)
class Context:
    """The settings, the store, the agents and tools, and what sends, admits and scores runs."""

    settings: Settings
    store: Store
    agents: Agents
    tools: Registry
    sender: Sender
    admitter: Admits
    scores: Scores
    prices: PriceTable = field(default_factory=PriceTable.load)
    _configs: dict[str, RunConfig] = field(default_factory=dict)

    def configuration(self, digest: str) -> RunConfig:
        """Returns a stored configuration. Configurations never change, so each is read once."""
        if digest not in self._configs:
            if len(self._configs) > 1_000:
                self._configs.clear()
            self._configs[digest] = get_configuration(self.store, digest)
        return self._configs[digest]


async def _of_request(request: Request) -> Context:
    # Async, because a plain function would run in a thread, and wait while all threads are busy.
    context: Context = request.app.state.context
    return context


Here = Annotated[Context, Depends(_of_request)]
"""The context, as an endpoint's parameter."""
