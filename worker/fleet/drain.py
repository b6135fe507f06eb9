"""How a worker process ends: it stops claiming, hands back its leases, signs off, and only then sends messages."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from celery.worker import state as celery_state
from sqlalchemy.exc import SQLAlchemyError

from tools.kit.process_tree import kill_descendants
from worker.core.errors import StopReason
from worker.core.states import Outcome, WorkerState
from worker.core.work_messages import WorkMessage
from worker.store.recovery import takeover
from worker.store.recovery.liveness import set_state
from worker.tasks.requests import REPORTS
from worker.tasks.runtime import Runtime

log = logging.getLogger(__name__)

EXIT_MARGIN_S = 3.0
"""Seconds after the grace time for running work to react to its abort, and then for Celery's own shutdown."""

SIGN_OFF_S, SEND_AT_END_S = 4.0, 2.0
"""Time limits of a process's final writes to the database and to Redis, in seconds."""


class Drain:
    """The drain of one process. `helpers` stop its other threads; `ended` is set when the final writes begin."""

    def __init__(self, rt: Runtime, idempotent: Mapping[str, bool], helpers: Sequence[Callable[[], None]]) -> None:
        self._rt = rt
        self._idempotent = idempotent
        self._helpers = helpers
        self._once = threading.Lock()
        self.ended = threading.Event()

    def begin(self) -> None:
        """Starts the drain on SIGTERM: claims stop; work in flight may run for the grace time, then is handed back."""
        self._rt.draining.set()
        threading.Thread(target=self._run, name="drain", daemon=True).start()

    def end(self) -> None:
        """After the pool has ended: hands back what is left, signs off, then sends messages, each within a time limit.

        If a limit is exceeded, sweepers of other workers take over the leases and send lost messages again.
        """
        with self._once:
            if self.ended.is_set():
                return
            self.ended.set()
            handed_back: list[WorkMessage] = []
            within(SIGN_OFF_S, "sign off", lambda: handed_back.extend(self._sign_off()))
            within(SEND_AT_END_S, "send what it handed back", lambda: self._rt.dispatcher.send(handed_back))
            within(SEND_AT_END_S, "end its helpers", lambda: [stop() for stop in self._helpers])

    def _run(self) -> None:
        deadline = time.monotonic() + self._rt.settings.drain_grace_s
        within(SIGN_OFF_S, "record that it is draining", lambda: self._say(WorkerState.DRAINING))
        _wait(lambda: not self._busy(), deadline)
        self._rt.in_flight.abort_all(StopReason.HAND_BACK)
        _wait(lambda: not self._busy(), time.monotonic() + EXIT_MARGIN_S)
        if not self._busy():
            # Celery's own shutdown talks to Redis, which may hang.
            _wait(self.ended.is_set, time.monotonic() + EXIT_MARGIN_S)
            if self.ended.is_set():
                return
        self._end_now()

    def _busy(self) -> bool:
        return bool(len(self._rt.in_flight) or celery_state.active_requests)

    def _end_now(self) -> None:
        """Ends the process although work is still running: no effect may happen after its call was handed back.

        So children are killed first. Threads cannot be killed, so other workers hand back what they hold, once they see
        that this worker has stopped.
        """
        try:
            REPORTS.report = None  # children that this process kills must not count as crashed
            kill_descendants()
            if len(self._rt.in_flight):
                within(SIGN_OFF_S, "sign off", lambda: self._say(WorkerState.STOPPED))
            else:
                self.end()
        finally:
            os._exit(0)

    def _sign_off(self) -> list[WorkMessage]:
        try:
            held = takeover.held_by(self._rt.store, self._rt.identity.id, Outcome.HANDED_BACK)
            results = [
                takeover.release(self._rt.store, one, self._idempotent, "its worker was stopped") for one in held
            ]
        except SQLAlchemyError as error:
            log.warning("Could not hand back (%s); sweepers of other workers will take over", type(error).__name__)
            return []
        self._say(WorkerState.STOPPED)
        self._rt.identity.forget()
        return takeover.work_messages_of(results)

    def _say(self, state: WorkerState) -> None:
        try:
            set_state(self._rt.store, self._rt.identity.id, state)
        except SQLAlchemyError as error:
            log.warning("Could not record that this worker is %s: %s", state.value, type(error).__name__)


def within(limit_s: float, what: str, do: Callable[[], object]) -> None:
    """Runs `do` in a thread and waits at most `limit_s` seconds, so that a hanging server does not delay the exit."""
    thread = threading.Thread(target=do, name=f"at the end: {what}", daemon=True)
    thread.start()
    thread.join(limit_s)
    if thread.is_alive():
        log.warning("Could not %s within %.0f s", what, limit_s)


def _wait(done: Callable[[], bool], deadline: float) -> None:
    while not done() and time.monotonic() < deadline:
        time.sleep(0.05)
