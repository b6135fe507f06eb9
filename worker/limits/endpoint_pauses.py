"""This process's view of paused model endpoints, read from SQL up to once a second while all are open."""

from __future__ import annotations

import logging
import threading
import time

from sqlalchemy.exc import SQLAlchemyError

from worker.core.remedies import OPENED_BY_ANY_ANSWER
from worker.llm.endpoint import EndpointSettings
from worker.store.control.endpoints import (
    Pause,
    answered_since_failure,
    answered_since_pauses,
    answered_within,
    note_answered,
    paused,
    resume,
    slowed,
    turned_away_for_long,
)
from worker.store.errors import trouble
from worker.store.hot.interface import Lease
from worker.store.session import Store

log = logging.getLogger(__name__)

FRESH_S = 1.0
LATELY_S = 60.0
"""An endpoint that answered any run within this many seconds is considered working."""
TELL_EVERY_S = 2.0
"""Seconds between writes of when an endpoint last answered this process."""


class EndpointPauses:
    """Asked before each model call; reads the database only if its copy is older than `FRESH_S`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._paused: dict[str, Pause] = {}
        self._slowed: set[str] = set()
        self._read_at = float("-inf")
        self._answered_at: dict[str, float] = {}
        self._told_at: dict[str, float] = {}

    def closed(self, endpoint_id: str, run_id: str) -> Pause | None:
        """Returns why this run may not call the endpoint now, or None. The run chosen to probe it may."""
        asked_at = time.monotonic()
        self._refresh(asked_at - FRESH_S)
        if endpoint_id in self._paused:
            # Since the last read it may have reopened, or this run may have been chosen to probe it.
            self._refresh(asked_at)
        found = self._paused.get(endpoint_id)
        return None if found is None or found.probe_run == run_id else found

    def slowed(self, endpoint_id: str) -> bool:
        """Returns whether the endpoint refused calls recently, so that the fleet's adaptive limit is in force."""
        self._refresh(time.monotonic() - FRESH_S)
        return endpoint_id in self._slowed

    def _refresh(self, no_older_than: float) -> None:
        """Reads the database, once for all threads that ask at the same time."""
        with self._lock:
            if self._read_at < no_older_than:
                began = time.monotonic()
                self._paused, self._slowed = paused(self._store), slowed(self._store)
                self._read_at = began

    def answered(self, endpoint: EndpointSettings) -> None:
        """Records that the endpoint replied; a successful probe reopens it. Database errors do not lose the reply."""
        now = self._answered_at[endpoint.endpoint_id] = time.monotonic()
        try:
            self._refresh(now - FRESH_S)  # it may have been paused while this call was under way
            found = self._paused.get(endpoint.endpoint_id)
            if found is not None and (found.probe_run is not None or found.kind in OPENED_BY_ANY_ANSWER):
                resume(self._store, endpoint.endpoint_id)
                self.forget()
            if now - self._told_at.get(endpoint.endpoint_id, float("-inf")) >= TELL_EVERY_S:
                self._tell(endpoint)
        except SQLAlchemyError as error:
            log.warning("Could not record that %s answers: %s", endpoint.model, trouble(error))

    def answers_others(self, endpoint: EndpointSettings, lease: Lease, failures: int) -> bool:
        """Returns whether the endpoint is known to have answered any run since this step first failed."""
        self._tell(endpoint)
        return answered_since_failure(self._store, endpoint.endpoint_id, lease, failures)

    def answered_lately(self, endpoint: EndpointSettings) -> bool:
        """Returns whether the endpoint has answered any run in the last minute."""
        self._tell(endpoint)
        return answered_within(self._store, endpoint.endpoint_id, LATELY_S)

    def turns_away(self, endpoint: EndpointSettings, lease: Lease) -> bool:
        """Returns whether the endpoint answers no run and has now refused this step too often."""
        self._tell(endpoint)
        return turned_away_for_long(self._store, endpoint.endpoint_id, lease)

    def refuses_again(self, endpoint: EndpointSettings, lease: Lease) -> bool:
        """Returns whether this step failed at least twice and the endpoint has answered others since."""
        self._tell(endpoint)
        return answered_since_pauses(self._store, endpoint.endpoint_id, lease)

    def probed_by(self, endpoint_id: str, run_id: str) -> Pause | None:
        """Returns the pause that this run was chosen to probe, as of the last read, or None."""
        found = self._paused.get(endpoint_id)
        return found if found is not None and found.probe_run == run_id else None

    def _tell(self, endpoint: EndpointSettings) -> None:
        answered_at = self._answered_at.get(endpoint.endpoint_id)
        if answered_at is None or answered_at <= self._told_at.get(endpoint.endpoint_id, float("-inf")):
            return
        ago_s = time.monotonic() - answered_at
        note_answered(self._store, endpoint.endpoint_id, endpoint.base_url, endpoint.model, ago_s)
        self._told_at[endpoint.endpoint_id] = answered_at

    def forget(self) -> None:
        """Makes the next call read the database again."""
        self._read_at = float("-inf")
