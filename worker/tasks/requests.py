"""Lets a prefork parent report at once that a pool child died or was killed."""

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
    """Runs the worker's `report` in a thread, because the event loop must not wait for the database."""

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
            # The attempt's deadline and the sweeper catch it as well, only later.
            log.exception("The loss of the attempt %s could not be reported", args)


REPORTS = _Reports()


class WatchedRequest(Request):  # type: ignore[misc]  # celery has no types
    """A request that reports the death or timeout of its pool child."""

    _stopping = False
    _lock = threading.Lock()

    def first_stop(self) -> bool:
        """Returns True the first time only: a second signal would interrupt the child's clean-up."""
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
            # It was interrupted outside the tool itself, where the task does not handle it.
            REPORTS.send(tuple(self.args), Outcome.TIMEOUT)
        return super().on_failure(exc_info, send_failed_event, return_ok)

    def on_timeout(self, soft: bool, timeout: float) -> Any:
        if not soft:
            REPORTS.send(tuple(self.args), Outcome.TIMEOUT)
        return super().on_timeout(soft, timeout)
