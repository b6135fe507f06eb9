"""How a worker process ends: it claims no more, hands back what it holds, signs off, and only then tells others."""

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
"""After the grace time, what still runs has this long to notice; and Celery's own way out as long again."""

SIGN_OFF_S, SEND_AT_END_S = 4.0, 2.0
"""What the last words of a process may take: to the database, and then to Redis."""


class Drain:
    """Of one process. `helpers` end its other threads; `ended` is set once it says its last words."""

    def __init__(self, rt: Runtime, idempotent: Mapping[str, bool], helpers: Sequence[Callable[[], None]]) -> None:
        self._rt = rt
        self._idempotent = idempotent
        self._helpers = helpers
        self._once = threading.Lock()
        self.ended = threading.Event()

    def begin(self) -> None:
        """On SIGTERM: no more claims; what is in flight may go on for the grace time, then it is handed back."""
        self._rt.draining.set()
        threading.Thread(target=self._run, name="drain", daemon=True).start()

    def end(self) -> None:
        """The pool has ended: hands back what is left, signs off, and then tells others. Each part is bounded in time.

        What a bound cuts off others find: sweepers take over from a worker that is gone, and send lost messages again.
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
        within(SIGN_OFF_S, "say that it is draining", lambda: self._say(WorkerState.DRAINING))
        _wait(lambda: not self._busy(), deadline)
        self._rt.in_flight.abort_all(StopReason.HAND_BACK)
        _wait(lambda: not self._busy(), time.monotonic() + EXIT_MARGIN_S)
        if not self._busy():
            # Celery's own way out speaks to Redis, which may hang.
            _wait(self.ended.is_set, time.monotonic() + EXIT_MARGIN_S)
            if self.ended.is_set():
                return
        self._end_now()

    def _busy(self) -> bool:
        return bool(len(self._rt.in_flight) or celery_state.active_requests)

    def _end_now(self) -> None:
        """Children need not obey and threads cannot be killed. No effect may land after its call was handed back.

        So children end first, and what threads hold is handed back by others, who see that this worker has stopped.
        """
        try:
            REPORTS.report = None  # nobody is to blame for a death by our own hand
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
            log.warning("Could not say that this worker is %s: %s", state.value, type(error).__name__)


def within(limit_s: float, what: str, do: Callable[[], object]) -> None:
    """Does it in a thread and waits no longer than `limit_s`: a server that hangs must not hold up the end."""
    thread = threading.Thread(target=do, name=f"at the end: {what}", daemon=True)
    thread.start()
    thread.join(limit_s)
    if thread.is_alive():
        log.warning("Could not %s within %.0f s", what, limit_s)


def _wait(done: Callable[[], bool], deadline: float) -> None:
    while not done() and time.monotonic() < deadline:
        time.sleep(0.05)
