"""The sweeper's inspection: one invariant of the hot set at a time, some ticks apart; what is wrong is told once."""

from __future__ import annotations

import logging
from collections.abc import Callable

from worker.store.recovery.invariants import HOT, Violation, check
from worker.store.recovery.liveness import count_violations
from worker.store.session import Store

log = logging.getLogger(__name__)

EVERY_TICKS = 5
"""A check is a read of the hot set: cheap, but not at every tick of every worker."""
AT_MOST = 20
"""Violations that one check looks at."""
REMEMBERED = 10_000


class InvariantChecker:
    """Looks at one invariant after the other. It mends nothing: a violation is a bug of ours."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ticks = 0
        self._seen: set[tuple[str, str]] = set()

    def tick(self, worker_id: Callable[[], str]) -> list[Violation]:
        """Checks the next invariant, if its turn has come; new violations are logged, counted and returned."""
        self._ticks += 1
        turn, rest = divmod(self._ticks, EVERY_TICKS)
        if rest:
            return []
        found = check(self._store, AT_MOST, (HOT[(turn - 1) % len(HOT)],))
        new = [one for one in found if (one.name, one.subject) not in self._seen]
        if not new:
            return []
        for one in new:
            log.error("Invariant %s is violated by %s: %s Seen: %s", one.name, one.subject, one.says, one.seen)
        if len(self._seen) > REMEMBERED:
            self._seen.clear()
        self._seen |= {(one.name, one.subject) for one in new}
        count_violations(self._store, worker_id(), len(new))
        return new
