"""Workers, sweepers, an admitter and an operator in many threads: no deadlock, and all sums agree in the end."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from queue import SimpleQueue

import pytest
from sqlalchemy import func, select, update

from tests.services.waiting import wait_until
from tests.store.conftest import RECORD, SPENT, World, world_on
from tests.store.racing import InThread
from worker.core.config import RunConfig
from worker.core.machine import decide_call, decide_think
from worker.core.moves import Acted, Answered, CallFinished, NewCall
from worker.core.spending import Spent
from worker.core.work_messages import WorkMessage
from worker.store.admission.admit import Capacity, admit
from worker.store.control.stopping import (
    cancel_batch,
    cancel_chunk,
    cancel_run,
    pause_batch,
    pause_run,
    resume_batch,
    resume_run,
    unfinished_cancels,
)
from worker.store.hot.late_usage import note_waste
from worker.store.hot.writes import apply_call, apply_think, claim_call, claim_think, start_call
from worker.store.recovery.invariants import check
from worker.store.recovery.sweeps import end_overdue, mark_sent_again, park_paused, unanswered
from worker.store.recovery.takeover import abandoned, release, work_messages_of
from worker.store.schema.tables import active, batches, runs, tool_calls
from worker.store.session import Store


@pytest.fixture
def world(store_each_way: Store) -> World:
    return world_on(store_each_way)


WORKERS = 3
SLOTS = Capacity(hot_set=12, reserve=2)
NEW = NewCall("calculator", {}, "tools.local")


class Everything:
    """A queue in memory and all those who work on the store; messages are lost and doubled now and then."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.store, self.seed = world, world.store, seed
        self.queue: SimpleQueue[WorkMessage | None] = SimpleQueue()
        self.over = threading.Event()

    def deliver(self, work_messages: tuple[WorkMessage, ...] | list[WorkMessage], rng: random.Random) -> None:
        for work_message in work_messages:
            for _ in range(rng.choice([0, 1, 1, 1, 1, 2])):
                self.queue.put(work_message)

    def worker(self, rng: random.Random) -> None:
        work_message = self.queue.get()
        if work_message is None:
            return
        lease = self.world.lease(work_message)
        if work_message.call:
            call = claim_call(self.store, lease)
            if call is None or (start_call(self.store, lease) and rng.random() < 0.05):
                return
            seen = (call.seen, call.view) if call.seen else None
            applied = apply_call(
                self.store, lease, lambda h, v: decide_call(h, v, CallFinished("2")), Spent("ok"), seen
            )
        else:
            work = claim_think(self.store, lease)
            if work is None or rng.random() < 0.05:
                return
            event = Answered("Two.") if work.hot.step > 2 else Acted((NEW,) * rng.randint(1, 3), "I add.")
            decision = decide_think(work.hot, event, RunConfig())
            applied = apply_think(self.store, lease, decision, SPENT, RECORD)
        if applied is None:
            note_waste(self.store, lease, SPENT)
        else:
            self.deliver(applied.work_messages, rng)

    def sweeper(self, rng: random.Random) -> None:
        for table in (active, tool_calls):  # what a worker above has dropped is overdue before long
            with self.store.write() as tx:
                held = select(table.c.run_id, table.c.token).where(
                    table.c.token.is_not(None), table.c.lease_until > 0.0
                )
                for row in tx.execute(held).all():
                    if rng.random() < 0.1:
                        tx.execute(update(table).where(table.c.token == row.token).values(lease_until=1.0))
        done = [release(self.store, held, {"calculator": True}, "overdue") for held in abandoned(self.store)]
        self.deliver(work_messages_of(done), rng)
        park_paused(self.store)
        end_overdue(self.store)
        for batch_id in unfinished_cancels(self.store):
            cancel_chunk(self.store, batch_id, 5)
        for one in unanswered(self.store, 0.05):
            if mark_sent_again(self.store, one.message, one.sent_at):
                self.queue.put(one.message)
        self.deliver(admit(self.store, SLOTS).work_messages, rng)

    def operator(self, rng: random.Random) -> None:
        with self.store.read() as tx:
            run = tx.execute(select(runs.c.id, runs.c.batch_id).order_by(func.random()).limit(1)).one()
        choice = rng.random()
        if choice < 0.3:
            cancel_run(self.store, run.id)
        elif choice < 0.5:
            pause_run(self.store, run.id)
        elif choice < 0.7:
            pause_batch(self.store, run.batch_id)
        elif choice < 0.72:
            cancel_batch(self.store, run.batch_id)
        self.put_right()

    def stop(self) -> None:
        self.over.set()
        for _ in range(WORKERS):
            self.queue.put(None)

    def put_right(self) -> None:
        """Resumes whatever is paused."""
        with self.store.read() as tx:
            paused = tx.execute(select(runs.c.id).where(runs.c.paused)).scalars().all()
            stopped = tx.execute(select(batches.c.id).where(batches.c.paused_reason.is_not(None))).scalars().all()
        for run_id in paused:
            resume_run(self.store, run_id)
        for batch_id in stopped:
            resume_batch(self.store, batch_id)

    def repeat(self, what: Callable[[random.Random], None], number: int, most: int) -> Callable[[], None]:
        def go() -> None:
            rng = random.Random(self.seed * 100 + number)
            for _ in range(most):
                if self.over.is_set():
                    return
                what(rng)

        return go


@pytest.mark.parametrize("seed", [1, 2])
def test_all_at_once_leads_to_an_end_in_which_everything_adds_up(world: World, seed: int) -> None:
    every = Everything(world, seed)
    ids = [run_id for _ in range(3) for run_id in world.submit(12)[1]]
    threads = [InThread(every.repeat(every.worker, n, 1_000_000)) for n in range(WORKERS)]
    threads += [InThread(every.repeat(every.sweeper, n, 1_000_000)) for n in (3, 4)]
    InThread(every.repeat(every.operator, 5, 25)).result(60.0)
    every.put_right()
    try:
        _until_all_have_ended(world, threads)
    finally:
        every.stop()
    for thread in threads:
        thread.result()
    assert check(world.store) == []
    with world.store.read() as tx:
        states = tx.execute(select(runs.c.state, func.count()).group_by(runs.c.state)).all()
        ended = select(func.sum(batches.c.succeeded + batches.c.failed + batches.c.cancelled))
        assert tx.execute(ended).scalar() == len(ids) == sum(row[1] for row in states)
        assert tx.execute(select(active)).all() == []


def _until_all_have_ended(world: World, threads: list[InThread[None]]) -> None:
    def all_ended() -> bool:
        for thread in threads:
            if not thread.thread.is_alive():
                thread.result()
        with world.store.read() as tx:
            return tx.execute(select(func.count()).where(batches.c.finished_at.is_(None))).scalar() == 0

    wait_until("all batches have ended", all_ended, timeout_s=40.0)
