"""The admitter thread: woken by submit, end, resume and un-park, it fills free slots and sends their messages."""

from __future__ import annotations

import itertools
import logging
import threading

from sqlalchemy.exc import SQLAlchemyError

from worker.dispatch import Dispatcher
from worker.faults import reach
from worker.settings import Settings
from worker.store.admission.admit import Capacity, admit
from worker.store.errors import trouble
from worker.store.session import Store

log = logging.getLogger(__name__)

PAUSE_S = 0.1
"""Seconds between admissions, so that a stream of endings is settled in groups; the first wake does not wait."""

IDLE_S = 10.0
"""Seconds after which it admits without a wake, so that the time of the last success shows whether admission works."""


def capacity_of(settings: Settings) -> Capacity:
    """Returns the size of the hot set from the settings."""
    return Capacity(settings.hot_set, settings.interactive_reserve, settings.parked_per_batch)


class Admitter:
    """Admits in one of many processes; a database lock lets one admit at a time, and wakes meanwhile count as one."""

    def __init__(self, store: Store, dispatcher: Dispatcher, capacity: Capacity) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._capacity = capacity
        self._asked = itertools.count(1)
        self._admitting = threading.Lock()
        self._served = 0
        """Requests numbered up to this one have been served."""
        self._poked = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="admitter", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the current admission."""
        self._stopping.set()
        self._poked.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10.0)

    def wake(self) -> None:
        """Wakes the thread, because something changed that may let runs in. Returns at once."""
        self._poked.set()

    def admit_now(self) -> int:
        """Admits in the calling thread and sends; returns how many runs began. Raises database errors.

        If several threads ask at once, one admits for all: an admission that began after a request serves it too.
        """
        mine = next(self._asked)
        with self._admitting:
            if self._served >= mine:
                return 0
            upto = next(self._asked)
            admission = admit(self._store, self._capacity)
            self._served = upto
        reach("admit.committed")
        self._dispatcher.send(admission.work_messages)
        return len(admission.work_messages)

    def admit_soon(self) -> None:
        """Admits now, for a run that a client waits for; if the database prevents it, the thread does it later.

        Does not wait for an admission in progress: with many callers that would take longer than everything else.
        """
        if self._admitting.locked():
            self.wake()
            return
        try:
            self.admit_now()
        except SQLAlchemyError as error:
            log.warning("Admission was not possible at once: %s", trouble(error))
            self.wake()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._poked.wait(IDLE_S)
            self._poked.clear()
            if self._stopping.is_set():
                return
            try:
                self.admit_now()
            except SQLAlchemyError as error:
                # Every sweeper wakes it again; a database outage costs time, not runs.
                log.warning("Admission was not possible: %s", trouble(error))
            except Exception:  # a bug in stepmill must not end the thread that starts every run
                log.exception("Admission failed; the next wake tries again")
            self._stopping.wait(PAUSE_S)
