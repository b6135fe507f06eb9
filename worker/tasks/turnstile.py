"""Few of a process's threads compute at once; the others wait their turn, in order, instead of fighting for the GIL.

A think worker has hundreds of threads, nearly all of them waiting for a model. When many replies come together and each
thread goes on at once, all are done late: a thread that wakes from the database waits for the interpreter behind all
others. In turn, the first are done at once and their slots make their next calls.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

AT_ONCE = 2
"""Of many threads: one that computes, and one that waits for the database meanwhile."""

FEW = 16
"""So many threads do not get into each other's way; fewer turns would only slow them down."""

PATIENCE_S = 0.5
"""After which a thread goes on out of turn: a hanging database or Redis must not make the others wait in line."""


class Turnstile:
    """`with turnstile:` around what computes, and inside it `with turnstile.aside():` around a long wait."""

    def __init__(self, at_once: int = FEW, patience_s: float = PATIENCE_S) -> None:
        self._turns = threading.Semaphore(at_once)
        self._patience_s = patience_s
        self._mine = threading.local()

    @classmethod
    def for_threads(cls, count: int) -> Turnstile:
        """The turnstile of a pool of so many threads."""
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
        """Gives the turn up while the block runs, and takes one again."""
        self.__exit__(None, None, None)
        try:
            yield
        finally:
            self.__enter__()
