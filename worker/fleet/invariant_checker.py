"""The sweeper's invariant checks: one check of the hot set at a time, some ticks apart; violations are logged once."""

from __future__ import annotations

import logging
from collections.abc import Callable

from worker.store.recovery.invariants import HOT, Violation, check
from worker.store.recovery.liveness import count_violations
from worker.store.session import Store

log = logging.getLogger(__name__)

EVERY_TICKS = 5
"""Ticks between checks: a check reads the hot set, which is cheap, but not at every tick of every worker."""
AT_MOST = 20
"""The most violations that one check reads."""
REMEMBERED = 10_000


class InvariantChecker:
    """Checks the invariants in turn. It repairs nothing, because a violation is a bug in stepmill."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ticks = 0
        self._seen: set[tuple[str, str]] = set()

    def tick(self, worker_id: Callable[[], str]) -> list[Violation]:
        """Checks the next invariant every `EVERY_TICKS` ticks; logs, counts and returns new violations."""
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
