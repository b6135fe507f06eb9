"""Interleaving by hand: one transaction is held at a named point while another one runs into it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from sqlalchemy import event, text

from tests.services.waiting import wait_until
from worker.store.session import Store

T = TypeVar("T")

COMMIT = "COMMIT"
PATIENCE_S = 10.0


class InThread(Generic[T]):
    """Work in a thread of its own; `result()` gives what it returned or raises what it raised."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._result: list[T] = []
        self._error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self._result.append(self._work())
        except BaseException as error:  # handed to whoever asks for the result
            self._error = error

    def result(self, timeout_s: float = PATIENCE_S) -> T:
        self.thread.join(timeout_s)
        assert not self.thread.is_alive(), "it waits for a lock that nobody gives back"
        if self._error is not None:
            raise self._error
        return self._result[0]


class HeldTransaction(Generic[T]):
    """Work that stops just before it sends a statement that contains `before` (or its COMMIT), until it is let go."""

    def __init__(self, store: Store, work: Callable[[], T], before: str = COMMIT) -> None:
        self._engine, self._before = store.engine, before
        self._reached, self._go = threading.Event(), threading.Event()
        self._held_thread: threading.Thread | None = None
        event.listen(self._engine, "before_cursor_execute", self._statement)
        event.listen(self._engine, "commit", self._commit)

        def begin() -> T:
            self._held_thread = threading.current_thread()
            return work()

        self._work = InThread(begin)
        wait_until(f"the first transaction is about to send {before!r}", self._arrived)

    def _arrived(self) -> bool:
        return self._reached.is_set() or not self._work.thread.is_alive()

    def _statement(self, _conn: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if self._before in statement:
            self._wait()

    def _commit(self, _conn: Any) -> None:
        if self._before == COMMIT:
            self._wait()

    def _wait(self) -> None:
        if threading.current_thread() is self._held_thread and not self._reached.is_set():
            self._reached.set()
            assert self._go.wait(PATIENCE_S), "nobody let the held transaction go"

    def let_go(self) -> T:
        assert self._reached.is_set(), f"it ended without a statement that contains {self._before!r}"
        self._go.set()
        result = self._work.result()
        event.remove(self._engine, "before_cursor_execute", self._statement)
        event.remove(self._engine, "commit", self._commit)
        return result


def running_into(store: Store, held: HeldTransaction[Any], work: Callable[[], T]) -> InThread[T]:
    """Starts `work` while another transaction is held; returns once it waits for that one's locks or has ended."""
    entered = threading.Event()

    def enter() -> T:
        entered.set()
        return work()

    second = InThread(enter)
    assert entered.wait(PATIENCE_S)
    if store.postgres:
        wait_until("the second transaction waits or ends", lambda: not second.thread.is_alive() or _waits(store))
    return second


def _waits(store: Store) -> bool:
    blocked = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with store.read() as tx:
        return bool(tx.execute(text(blocked)).scalar())


@contextmanager
def answer_lost(store: Store) -> Iterator[None]:
    """The next commit arrives, but its answer does not: the connection breaks just after it."""
    dialect: Any = store.engine.dialect
    original, lost = dialect.do_commit, threading.Event()

    def commit(connection: Any) -> None:
        original(connection)
        if not lost.is_set():
            lost.set()
            raise dialect.loaded_dbapi.OperationalError("the connection broke after COMMIT")

    dialect.do_commit = commit
    try:
        yield
    finally:
        dialect.do_commit = original
    assert lost.is_set(), "nothing was committed"
