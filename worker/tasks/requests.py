"""How a prefork parent sees the end of its children's work: one that dies or is killed is reported at once."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from billiard.einfo import ExceptionWithTraceback
from billiard.exceptions import SoftTimeLimitExceeded, WorkerLostError
from celery.worker.request import Request
from sqlalchemy.exc import SQLAlchemyError

from worker.core.states import Outcome

log = logging.getLogger(__name__)

Report = Callable[[str, int, int, int, Outcome], None]


class _Reports:
    """Set by the worker process; runs off the event loop, which must not wait for the database."""

    def __init__(self) -> None:
        self.report: Report | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lost-child")

    def send(self, args: tuple[Any, ...], outcome: Outcome) -> None:
        if self.report is not None:
            self._thread.submit(self._run, self.report, args, outcome)

    @staticmethod
    def _run(report: Report, args: tuple[Any, ...], outcome: Outcome) -> None:
        try:
            run_id, step, call, attempt = args
            report(run_id, step, call, attempt, outcome)
        except SQLAlchemyError:
            # The attempt's deadline and the sweeper find it too, only later.
            log.exception("The loss of the attempt %s could not be reported", args)


REPORTS = _Reports()


class WatchedRequest(Request):  # type: ignore[misc]  # celery has no types
    """A request whose child's death is told to the database by its parent."""

    _stopping = False
    _lock = threading.Lock()

    def first_stop(self) -> bool:
        """Whether its child is to be interrupted now: once only, or the next signal would strike what it cleans up."""
        with self._lock:
            first, self._stopping = not self._stopping, True
        return first

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> Any:
        exc = exc_info.exception
        if isinstance(exc, ExceptionWithTraceback):
            exc = exc.exc
        if isinstance(exc, WorkerLostError | SystemExit):
            REPORTS.send(tuple(self.args), Outcome.LOST)
        elif isinstance(exc, SoftTimeLimitExceeded):
            # It was interrupted before or after the tool itself, where nothing could be made of it.
            REPORTS.send(tuple(self.args), Outcome.TIMEOUT)
        return super().on_failure(exc_info, send_failed_event, return_ok)

    def on_timeout(self, soft: bool, timeout: float) -> Any:
        if not soft:
            REPORTS.send(tuple(self.args), Outcome.TIMEOUT)
        return super().on_timeout(soft, timeout)
