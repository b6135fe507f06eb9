"""The application over a real database, with a sender that records instead of sending."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from api.app import create_app
from api.context import Context
from api.scores import Scores
from tests.store.conftest import World, store, world
from tools.registry import load_tools
from worker.agents import load_agents
from worker.core.work_messages import WorkMessage
from worker.settings import Settings
from worker.store.admission.admit import Capacity, admit
from worker.store.session import Store

__all__ = ["store", "world"]


@dataclass
class Recorder:
    """Stands for the dispatcher: remembers what would have been sent."""

    work_messages: list[WorkMessage] = field(default_factory=list)
    aborted: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    queued: dict[str, int] = field(default_factory=dict)

    def send(self, work_messages: Sequence[WorkMessage]) -> None:
        self.work_messages += work_messages

    def abort(self, run_ids: Iterable[str]) -> None:
        self.aborted += run_ids

    def changed(self, run_ids: Iterable[str]) -> None:
        self.told += run_ids

    def heard(self) -> Iterator[list[str]]:
        raise ConnectionError("no Redis here: streams look by themselves")

    def lengths(self, queues: Iterable[str]) -> dict[str, int]:
        return {queue: self.queued.get(queue, 0) for queue in queues}

    def check_room(self) -> None:
        self.queued.setdefault("think", 0)


@dataclass
class HandAdmitter:
    """Admits when a test says so, or at once for interactive runs; counts the wakes."""

    store: Store
    sender: Recorder
    wakes: int = 0

    def start(self) -> None:
        self.wakes = 0

    def stop(self) -> None:
        self.wakes = 0

    def wake(self) -> None:
        self.wakes += 1

    def admit_now(self) -> int:
        admission = admit(self.store, Capacity(hot_set=1_000))
        self.sender.send(admission.work_messages)
        return len(admission.work_messages)

    def admit_soon(self) -> None:
        self.admit_now()


@dataclass
class Api:
    """The application, a client of it, and what stands behind."""

    client: TestClient
    context: Context
    sender: Recorder
    admitter: HandAdmitter


def make_context(store: Store, tmp_path: Path, **values: object) -> tuple[Context, Recorder, HandAdmitter]:
    settings = Settings(_env_file=None, data_dir=tmp_path, **values)  # type: ignore[arg-type]
    sender = Recorder()
    admitter = HandAdmitter(store, sender)
    context = Context(settings, store, load_agents(settings), load_tools(), sender, admitter, Scores(store))
    return context, sender, admitter


@pytest.fixture
def api(store: Store, tmp_path: Path) -> Iterator[Api]:
    context, sender, admitter = make_context(store, tmp_path, max_question_bytes=1_000)
    with TestClient(create_app(context), base_url="http://127.0.0.1") as client:
        yield Api(client, context, sender, admitter)


@pytest.fixture
def moved(world: World, api: Api) -> World:
    """Words to move runs without workers, over the same database as the API."""
    assert api.context.store is world.store
    return world
