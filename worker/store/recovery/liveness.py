"""Which workers are alive: registration, heartbeats, and declaring dead the workers that stopped beating."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import insert, select, update

from worker.core.states import ENDED, QUEUE_INTERACTIVE, QUEUE_THINK, WorkerState
from worker.store.schema.tables import runs, workers
from worker.store.session import NOW, Store


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What a worker process registers about itself."""

    name: str
    queues: Sequence[str]
    pool: str
    slots: int
    tools: Sequence[str] = ()


def register(store: Store, info: WorkerInfo) -> str:
    """Registers this process start and returns its worker id: a new UUID, which a restart never reuses."""
    worker_id = str(uuid.uuid4())
    with store.write() as tx:
        tx.execute(
            insert(workers).values(
                id=worker_id, name=info.name, host=socket.gethostname(), pid=os.getpid(), queues=list(info.queues),
                pool=info.pool, slots=info.slots, tools=list(info.tools), state=WorkerState.UP.value,
                started_at=NOW, beat_at=NOW,
            )
        )  # fmt: skip
    return worker_id


def beat(store: Store, worker_id: str, stuck: int = 0) -> bool:
    """Sends one heartbeat. False: the worker was declared dead, its leases are lost, and it must register anew."""
    statement = (
        update(workers)
        .where(workers.c.id == worker_id, workers.c.state.in_([WorkerState.UP.value, WorkerState.DRAINING.value]))
        .values(beat=workers.c.beat + 1, beat_at=NOW, stuck=stuck)
    )
    with store.write() as tx:
        return tx.execute(statement).rowcount == 1


def count_violations(store: Store, worker_id: str, count: int) -> None:
    """Adds the violations that this worker found to its row, where operators see them."""
    found = update(workers).where(workers.c.id == worker_id)
    with store.write() as tx:
        tx.execute(found.values(violations=workers.c.violations + count))


def ended_among(store: Store, run_ids: Sequence[str]) -> set[str]:
    """Returns which of these runs have ended, so that work on them can be stopped."""
    ended = [state.value for state in ENDED]
    with store.read() as tx:
        return set(tx.execute(select(runs.c.id).where(runs.c.id.in_(run_ids), runs.c.state.in_(ended))).scalars())


def set_state(store: Store, worker_id: str, state: WorkerState) -> bool:
    """Sets a worker's own state to `draining` or `stopped`. False: it has already been declared dead."""
    ended = NOW if state == WorkerState.STOPPED else None
    statement = (
        update(workers)
        .where(workers.c.id == worker_id, workers.c.state != WorkerState.DEAD.value)
        .values(state=state.value, ended_at=ended)
    )
    with store.write() as tx:
        return tx.execute(statement).rowcount == 1


class Pulse:
    """What one sweeper has seen of every worker's heartbeat. It relies only on its own ticks, never on a clock.

    A worker is suspect after `dead_after` consecutive successful ticks without a change. During a database outage or a
    clock jump there are no successful ticks, so no worker is declared dead.
    """

    def __init__(self, dead_after: int) -> None:
        self.dead_after = dead_after
        self._seen: dict[str, tuple[int, int]] = {}

    def tick(self, beats: Mapping[str, int], own: str | None = None) -> dict[str, int]:
        """Takes the current counters of all beating workers; returns the suspects with the beat they stopped at.

        `own` is the sweeper's worker id. While its own beats are not stored either (a full disk can still be read),
        the silence of others proves nothing.
        """
        seen = {}
        for worker, count in beats.items():
            last, unchanged = self._seen.get(worker, (count, -1))
            seen[worker] = (count, unchanged + 1 if count == last else 0)
        self._seen = seen
        if own is not None and (own not in seen or seen[own][1] > self.dead_after // 2):
            self.missed()
            return {}
        return {worker: count for worker, (count, unchanged) in seen.items() if unchanged >= self.dead_after}

    def missed(self) -> None:
        """Restarts the counts after a failed tick, since it proves nothing."""
        self._seen = {worker: (count, 0) for worker, (count, _) in self._seen.items()}


def beats(store: Store) -> dict[str, int]:
    """Returns the heartbeat counters of all workers that may hold leases."""
    query = select(workers.c.id, workers.c.beat).where(
        workers.c.state.in_([WorkerState.UP.value, WorkerState.DRAINING.value])
    )
    with store.read() as tx:
        return {row.id: row.beat for row in tx.execute(query)}


def thinkers(store: Store) -> int:
    """Returns how many live workers call models."""
    with store.read() as tx:
        live = tx.execute(select(workers.c.queues).where(workers.c.state == WorkerState.UP.value)).scalars()
        return sum(bool({QUEUE_THINK, QUEUE_INTERACTIVE} & set(queues or ())) for queues in live)


def declare_dead(store: Store, worker_id: str, seen_beat: int) -> bool:
    """Declares a worker dead if its counter is still at `seen_beat`. False: it has beaten again, or is not alive."""
    statement = (
        update(workers)
        .where(workers.c.id == worker_id, workers.c.beat == seen_beat)
        .where(workers.c.state.in_([WorkerState.UP.value, WorkerState.DRAINING.value]))
        .values(state=WorkerState.DEAD.value, ended_at=NOW)
    )
    with store.write() as tx:
        return tx.execute(statement).rowcount == 1
