"""Which model endpoints are paused, as this process knows it: read from SQL once a second while all are open."""

from __future__ import annotations

import threading
import time

from worker.store.endpoints import Pause, paused, resume, slowed
from worker.store.session import Store

FRESH_S = 1.0


class Gate:
    """Asked before each model call; costs a query a second, and none while it is fresh."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._paused: dict[str, Pause] = {}
        self._slowed: set[str] = set()
        self._read_at = float("-inf")

    def closed(self, endpoint_id: str, run_id: str) -> Pause | None:
        """Why this run may not call the endpoint now, or None. The one run that probes it may."""
        asked_at = time.monotonic()
        self._refresh(asked_at - FRESH_S)
        if endpoint_id in self._paused:
            # It may have opened, or this run may have been chosen to probe it, since this process looked last.
            self._refresh(asked_at)
        found = self._paused.get(endpoint_id)
        return None if found is None or found.probe_run == run_id else found

    def slowed(self, endpoint_id: str) -> bool:
        """Whether the endpoint refused calls lately, so that the fleet's adaptive limit is in force."""
        self._refresh(time.monotonic() - FRESH_S)
        return endpoint_id in self._slowed

    def _refresh(self, no_older_than: float) -> None:
        """Reads once for all threads that ask at the same time."""
        with self._lock:
            if self._read_at < no_older_than:
                began = time.monotonic()
                self._paused, self._slowed = paused(self._store), slowed(self._store)
                self._read_at = began

    def answered(self, endpoint_id: str) -> None:
        """The endpoint gave a reply: a probe that succeeds opens it for all."""
        found = self._paused.get(endpoint_id)
        if found is not None and found.probe_run is not None:
            resume(self._store, endpoint_id)
            self.forget()

    def forget(self) -> None:
        """Something changed: look again at the next call."""
        self._read_at = float("-inf")
