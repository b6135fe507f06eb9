"""One database, its clock and its transactions: the same code on SQLite and PostgreSQL."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Double, Engine, Executable, Row, bindparam, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.functions import GenericFunction

from worker.store.hot.interface import HotWrites

READING = "stepmill.reading"
"""Marks a connection whose statements need no transaction around them."""

AnyRow = Row[*tuple[Any, ...]]
"""A row of any columns."""


class db_clock(GenericFunction[float]):  # lower case, as SQL functions are
    """The database's clock in seconds since 1970: one clock for a whole fleet."""

    type = Double()
    inherit_cache = True


@compiles(db_clock, "postgresql")
def _postgres_clock(element: Any, compiler: Any, **kw: Any) -> str:
    # Not now(): that is when the transaction began, before it waited for a lock.
    return "extract(epoch from clock_timestamp())::float8"


@compiles(db_clock, "sqlite")
def _sqlite_clock(element: Any, compiler: Any, **kw: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


class Clock:
    """What `NOW` means in every statement of this process: the database's clock, unless `moment` is set."""

    def __init__(self) -> None:
        self.moment: float | None = None


CLOCK = Clock()

NOW: ColumnElement[float] = func.coalesce(
    bindparam("now", type_=Double(), callable_=lambda: CLOCK.moment), db_clock(), type_=Double()
)
"""The current time inside a statement, in seconds since 1970."""


@dataclass(frozen=True)
class Store:
    """The database. Modules of `worker.store` take a Store, or a connection inside one of its transactions."""

    engine: Engine
    # SQLite allows one writer at a time. A lock inside the process is fair and wakes at once; SQLite's own busy
    # handler polls.
    _writer: threading.Lock | nullcontext[None]
    hot: HotWrites
    """The hot-path writes for this database."""

    @property
    def postgres(self) -> bool:
        return self.engine.dialect.name == "postgresql"

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Opens a short transaction that commits at the end of the block and rolls back on an error."""
        with self._writer, self.engine.begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Opens a connection for reading; each statement sees what is committed when it runs.

        PostgreSQL runs them without a transaction, which saves two round trips; SQLite runs them in one that does
        not block writers.
        """
        with self.engine.connect() as connection:
            marks = connection.info  # kept, because a connection that has broken meanwhile no longer returns it
            marks[READING] = True
            try:
                yield connection
            finally:
                marks.pop(READING, None)

    @contextmanager
    def walk(self) -> Iterator[Connection]:
        """Opens a connection for reads that fetch rows as needed; PostgreSQL's cursors need a transaction for that."""
        with self.engine.begin() if self.postgres else self.read() as connection:
            yield connection

    def once(self, statement: Executable, values: Mapping[str, Any]) -> AnyRow | None:
        """Runs one statement as its own transaction, in one round trip; returns its row or None.

        The statement may write on PostgreSQL only; SQLite would roll it back.
        """
        with self.read() as connection:
            return connection.execute(statement, values).one_or_none()

    def now(self) -> float:
        """Returns the time by the same clock, for people and log lines; statements use `NOW`."""
        with self.read() as connection:
            return float(connection.execute(select(NOW)).scalar_one())

    def dispose(self) -> None:
        self.engine.dispose()


_ID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(prefix: str) -> str:
    """Returns a short id that sorts by time: `prefix_`, 9 characters of milliseconds and 9 random ones, in base 32."""
    value = (int(time.time() * 1000) << 45) | secrets.randbits(45)
    letters = []
    for _ in range(18):
        letters.append(_ID_ALPHABET[value & 31])
        value >>= 5
    return f"{prefix}_{''.join(reversed(letters))}"


def is_id(text: str, prefix: str) -> bool:
    """Returns whether a text has the form of an id with this prefix."""
    kind, _, letters = text.partition("_")
    return kind == prefix and 0 < len(letters) <= 40 and set(letters) <= set(_ID_ALPHABET)


def new_token() -> str:
    """Returns a fencing token: unguessable and never repeated."""
    return secrets.token_hex(12)
