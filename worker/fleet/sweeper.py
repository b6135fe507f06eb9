"""The sweeper, which every worker runs: it repairs whatever a crash leaves behind, and may safely repeat itself."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from worker.core.states import Outcome
from worker.core.work_messages import WorkMessage
from worker.faults import reach
from worker.fleet.invariant_checker import InvariantChecker
from worker.store.control import parking
from worker.store.control.endpoints import reopen_due
from worker.store.control.stopping import Stopped, cancel_chunk, unfinished_cancels
from worker.store.errors import trouble
from worker.store.recovery import sweeps, takeover
from worker.store.recovery.liveness import Pulse, beats, declare_dead
from worker.tasks.runtime import Runtime

log = logging.getLogger(__name__)

_WHY = {
    Outcome.LOST: "its worker died",
    Outcome.HANDED_BACK: "its worker was stopped",
    Outcome.TIMEOUT: "the attempt went on past its deadline",
}


class Sweeper:
    """Ticks until stopped. Several may run at once: each write checks again the evidence that it acts on."""

    def __init__(self, rt: Runtime) -> None:
        self._rt = rt
        self._pulse = Pulse(rt.settings.dead_after_ticks)
        self._idempotent = {tool.name: tool.idempotent for tool in rt.registry.tools.values()}
        self._inspector = InvariantChecker(rt.store)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sweeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the current tick."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10.0)

    def _run(self) -> None:
        while not self._stopping.wait(self._rt.settings.tick_s):
            self.tick()

    def tick(self) -> None:
        """Runs every check once. An outage ends the tick early and is no evidence that a worker is dead."""
        steps: tuple[Callable[[], object], ...] = (
            self.declare_the_dead, self.take_over, self.end_overdue, self.finish_cancels, self.park_and_reopen,
            self.send_again, self.inspect,
        )  # fmt: skip
        try:
            for step in steps:
                step()
        except (SQLAlchemyError, RedisError) as error:
            self._pulse.missed()
            why = trouble(error) if isinstance(error, SQLAlchemyError) else type(error).__name__
            log.warning("This sweep ended early; the next one starts over: %s", why)
        except Exception:  # a bug in stepmill must not end the thread that does all takeovers
            self._pulse.missed()
            log.exception("This sweep failed; the next one starts over")
        self._rt.wake_admitter()

    def declare_the_dead(self) -> list[str]:
        """Declares dead the workers that stopped beating; returns their ids."""
        suspects = self._pulse.tick(beats(self._rt.store), self._rt.identity.known)
        dead = [worker for worker, seen in suspects.items() if declare_dead(self._rt.store, worker, seen)]
        for worker in dead:
            log.warning("Worker %s stopped beating: its work is taken over", worker)
        return dead

    def take_over(self) -> int:
        """Ends attempts that are past their deadline or whose worker is gone, and sends messages for their work."""
        held = takeover.abandoned(self._rt.store)
        reach("sweep.read")
        results = [takeover.release(self._rt.store, one, self._idempotent, _WHY[one.outcome]) for one in held]
        self._rt.dispatcher.send(takeover.work_messages_of(results))
        self._rt.dispatcher.abort(one.lease.run_id for one in held if one.outcome == Outcome.TIMEOUT)
        return sum(result is not None for result in results)

    def end_overdue(self) -> int:
        """Ends runs past their time limit; returns how many."""
        return self._abort(sweeps.end_overdue(self._rt.store))

    def finish_cancels(self) -> int:
        """Ends the remaining runs of cancelled batches in chunks; returns how many."""
        ended = 0
        for batch_id in unfinished_cancels(self._rt.store):
            while not self._stopping.is_set() and (count := self._abort(cancel_chunk(self._rt.store, batch_id))):
                ended += count
        return ended

    def park_and_reopen(self) -> int:
        """Parks runs that cannot move, marks those that can as ready, and reopens due endpoints."""
        store, served = self._rt.store, parking.served_queues(self._rt.store)
        moved = sweeps.park_paused(store) + reopen_due(store)
        moved += parking.park_unserved(store, served, self._rt.settings.park_after_s)
        return moved + parking.free_served(store, served)

    def send_again(self) -> list[WorkMessage]:
        """Sends again the messages that are shown to be lost; returns them."""
        waiting = sweeps.unanswered(self._rt.store, self._rt.settings.resend_after_s)
        if not waiting:
            return []
        lengths = self._rt.dispatcher.lengths(one.message.queue for one in waiting)
        missing = sweeps.lost(waiting, lengths, sweeps.claimed_up_to(self._rt.store))
        work_messages = [
            one.message for one in missing if sweeps.mark_sent_again(self._rt.store, one.message, one.sent_at)
        ]
        if work_messages:
            log.info("%d work messages were sent again", len(work_messages))
        self._rt.dispatcher.send(work_messages)
        return work_messages

    def inspect(self) -> None:
        """Checks the invariants, one at a time."""
        self._inspector.tick(lambda: self._rt.identity.id)

    def _abort(self, stopped: Stopped) -> int:
        self._rt.dispatcher.abort(stopped.aborted)
        return len(stopped.run_ids)
