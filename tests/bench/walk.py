"""A run carried through in this process, one piece of work at a time, so that what each piece costs can be counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from redis import Redis

import worker.limits.endpoint_pauses
from tests.services.counting import Counted
from worker.agents import load_agents
from worker.celery_app import make_app
from worker.core.work_messages import WorkMessage
from worker.dispatch import Dispatcher, connect_redis
from worker.settings import Settings
from worker.store.admission.admit import Capacity, admit
from worker.store.admission.submit import LOCAL_OWNER, NewBatch, NewRun, add_runs, open_batch, seal
from worker.store.configurations import put_configuration
from worker.store.recovery.liveness import WorkerInfo, register
from worker.tasks.runtime import Runtime, build_runtime
from worker.tasks.think import think
from worker.tasks.tool_call import call_tool

PIECES = ("a model call that asks for a tool", "a tool call", "a model call that answers")


class Heard(Dispatcher):
    """Sends as usual, and remembers what it sent."""

    sent: tuple[WorkMessage, ...] = ()

    def send(self, work_messages: Sequence[WorkMessage]) -> None:
        self.sent += tuple(work_messages)
        super().send(work_messages)


@dataclass(frozen=True)
class Cost:
    """What one piece of work cost."""

    statements: int
    transactions: int
    round_trips: int
    """To the database: statements, and the begin and the end of each transaction around them."""
    redis: dict[str, int]


@dataclass
class Walk:
    """A worker's runtime without a worker."""

    rt: Runtime
    dispatcher: Heard
    config_hash: str

    def admitted(self) -> WorkMessage:
        """A new run's first work message."""
        batch_id, _ = open_batch(self.rt.store, NewBatch())
        add_runs(self.rt.store, batch_id, LOCAL_OWNER, 1, [NewRun("What is it?", self.config_hash)])
        seal(self.rt.store, batch_id)
        (work_message,) = admit(self.rt.store, Capacity(hot_set=64)).work_messages
        return work_message

    def carry(self, work_message: WorkMessage) -> WorkMessage | None:
        """Does what a work message announces; returns the next one, or None where the run has ended."""
        self.dispatcher.sent = ()
        if work_message.call:
            tool = self.rt.registry.tools[work_message.tool]
            call_tool(self.rt, tool, work_message.run_id, work_message.step, work_message.call, work_message.attempt)
        else:
            think(self.rt, work_message.run_id, work_message.step, work_message.attempt)
        return self.dispatcher.sent[0] if self.dispatcher.sent else None

    def run(
        self, each: Callable[[str, Callable[[], WorkMessage | None]], WorkMessage | None] = lambda _, work: work()
    ) -> int:
        """Carries a run to its end; `each` does every piece of it, which it is told the name of. Returns how many."""
        work_message: WorkMessage | None = self.admitted()
        count = 0
        while work_message is not None:
            at = work_message
            answers = not at.call and at.step == 4
            name = PIECES[1] if at.call else PIECES[2] if answers else PIECES[0]
            work_message = each(name, lambda at=at: self.carry(at))  # type: ignore[misc]
            count += 1
        return count


def costs(walk: Walk, redis: Redis) -> dict[str, list[Cost]]:
    """Carries a warm run through and counts; nobody else may use that Redis meanwhile."""
    walk.run()
    found: dict[str, list[Cost]] = {name: [] for name in PIECES}

    def counted(name: str, work: Callable[[], WorkMessage | None]) -> WorkMessage | None:
        with Counted(walk.rt.store.engine, redis) as count:
            following = work()
        commands = {command: calls for command, calls in count.redis.items() if calls}
        found[name].append(Cost(len(count.statements), count.transactions, count.round_trips, commands))
        return following

    walk.run(counted)
    return found


@contextmanager
def walking(database_url: str, redis_url: str, model_url: str, directory: Path) -> Iterator[Walk]:
    """The endpoints' pauses are read once, where a worker reads them once a second: so the counts are exact."""
    config = Settings(_env_file=None, database_url=database_url, redis_url=redis_url, data_dir=directory, model="bench")
    app = make_app(config)
    rt = build_runtime(config, app)
    rt.dispatcher = heard = Heard(app, connect_redis(redis_url))
    rt.identity.become(register(rt.store, WorkerInfo("walk", ["think", "tools.local"], "threads", 4)))
    changes = {"base_url": model_url, "api_key_env": ""}
    asked = load_agents(config).configuration("assistant").model_copy(update=changes)
    with patch.object(worker.limits.endpoint_pauses, "FRESH_S", 3600.0):
        yield Walk(rt, heard, put_configuration(rt.store, asked))
    rt.clients.close()
    rt.store.dispose()
    app.close()
    heard.redis.close()
