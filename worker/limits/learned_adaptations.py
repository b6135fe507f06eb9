"""This process's view of what endpoints refuse: read from SQL regularly, and shared with the fleet when learned."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

from sqlalchemy.exc import SQLAlchemyError

from worker.core.records import Adaptation
from worker.store.control.learned import all_learned, learn
from worker.store.errors import trouble
from worker.store.session import Store

log = logging.getLogger(__name__)

FRESH_S = 10.0
"""Seconds within which every process notices that adaptations were deleted by command."""


class Learning:
    """The learned adaptations. There is one per process, shared by its threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Adaptation, ...]] = {}
        self._read_at = float("-inf")

    def of(self, endpoint_id: str) -> tuple[Adaptation, ...]:
        """Returns how requests to this endpoint must be changed."""
        with self._lock:
            if self._read_at < time.monotonic() - FRESH_S:
                found = all_learned(self._store)
                self._known = {one: tuple(item.adaptation for item in items) for one, items in found.items()}
                self._read_at = time.monotonic()
            return self._known.get(endpoint_id, ())

    def note(self, endpoint_id: str, adaptations: Sequence[Adaptation]) -> None:
        """Stores adaptations that helped. A database error costs the fleet a refused request, but no reply."""
        lasting = [one for one in adaptations if one.lasting]
        if not lasting:
            return
        try:
            learn(self._store, endpoint_id, lasting)
        except SQLAlchemyError as error:
            log.warning("Could not store what an endpoint refuses: %s", trouble(error))
        with self._lock:
            self._read_at = float("-inf")
