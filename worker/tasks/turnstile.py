"""Limits how many of a process's threads compute at once; the others queue instead of competing for the GIL.

A think worker has hundreds of threads, nearly all of them waiting for a model. If many replies arrive together and all
threads continue at once, all finish late, because a thread that wakes from the database waits for the GIL behind all
others. One after another, the first threads finish early and make their next calls.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

AT_ONCE = 2
"""Threads at once in a large pool: one computes while the other waits for the database."""

FEW = 16
"""Pools up to this size need no limit; one would only slow them down."""

PATIENCE_S = 0.5
"""Seconds after which a thread continues out of turn: a hanging database or Redis must not block the others."""


class Turnstile:
    """Use `with turnstile:` around computation, and inside it `with turnstile.aside():` around a long wait."""

    def __init__(self, at_once: int = FEW, patience_s: float = PATIENCE_S) -> None:
        self._turns = threading.Semaphore(at_once)
        self._patience_s = patience_s
        self._mine = threading.local()

    @classmethod
    def for_threads(cls, count: int) -> Turnstile:
        """Returns the turnstile for a pool of `count` threads."""
        return cls(count if count <= FEW else AT_ONCE)

    def __enter__(self) -> None:
        self._mine.held = self._turns.acquire(timeout=self._patience_s)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._mine.held:
            self._turns.release()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Gives up the turn while the block runs, then takes one again."""
        self.__exit__(None, None, None)
        try:
            yield
        finally:
            self.__enter__()
