"""One database, its clock and its transactions: the same code on SQLite and PostgreSQL."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import Connection, Double, Engine, Executable, Row, bindparam, create_engine, event, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.functions import GenericFunction

_READING = "stepmill.reading"
"""Marks a connection whose statements want no transaction around them."""

AnyRow = Row[*tuple[Any, ...]]
"""A row of any columns."""


class db_clock(GenericFunction[float]):  # SQL function names are lower case
    """The database's clock in seconds since 1970: one clock for a whole fleet."""

    type = Double()
    inherit_cache = True


@compiles(db_clock, "postgresql")
def _postgres_clock(element: Any, compiler: Any, **kw: Any) -> str:
    # Not now(): that is the moment the transaction began, before it waited for a lock.
    return "extract(epoch from clock_timestamp())::double precision"


@compiles(db_clock, "sqlite")
def _sqlite_clock(element: Any, compiler: Any, **kw: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


class Clock:
    """What `NOW` means in every statement of this process: the database's clock, unless a moment is set by hand."""

    def __init__(self) -> None:
        self.moment: float | None = None


CLOCK = Clock()

NOW: ColumnElement[float] = func.coalesce(
    bindparam("now", type_=Double(), callable_=lambda: CLOCK.moment), db_clock(), type_=Double()
)
"""The present moment, inside a statement."""


@dataclass(frozen=True)
class Store:
    """The database. The modules of `worker.store` take one of these, or a connection inside one of its transactions."""

    engine: Engine
    # SQLite lets one writer in at a time. Queueing for it inside the process is fair and wakes at once, where
    # SQLite's own busy handler polls.
    _writer: threading.Lock | nullcontext[None] = field(default_factory=nullcontext)
    at_once: bool = False
    """Whether the usual writes of the hot path go as one statement each, with `once`: only PostgreSQL can."""

    @property
    def postgres(self) -> bool:
        return self.engine.dialect.name == "postgresql"

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A short transaction that commits at the end of the block and rolls back on an error."""
        with self._writer, self.engine.begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Statements that only read, each seeing what is committed at its moment.

        On PostgreSQL without a transaction around them, which would cost two round trips; on SQLite in one that takes
        no lock that a writer would wait for.
        """
        with self.engine.connect() as connection:
            marks = connection.info  # held, since a connection that broke meanwhile would not give it out again
            marks[_READING] = True
            try:
                yield connection
            finally:
                marks.pop(_READING, None)

    @contextmanager
    def walk(self) -> Iterator[Connection]:
        """A read whose rows are fetched as they are needed: PostgreSQL's cursors want a transaction."""
        with self.engine.begin() if self.postgres else self.read() as connection:
            yield connection

    def once(self, statement: Executable, values: Mapping[str, Any]) -> AnyRow | None:
        """One statement that is a transaction of its own, one round trip, and its row, if any.

        It may write only where `at_once` says so: SQLite would roll it back.
        """
        with self.read() as connection:
            return connection.execute(statement, values).one_or_none()

    def now(self) -> float:
        """The moment by the same clock, for people and log lines; statements use `NOW`."""
        with self.read() as connection:
            return float(connection.execute(select(NOW)).scalar_one())

    def dispose(self) -> None:
        self.engine.dispose()


def open_store(url: str, pool_size: int = 8, *, tested: bool = False) -> Store:
    """Opens the database. Never migrates: `stepmill db upgrade` does.

    `tested`: each connection is tried before use, at the price of a round trip, and replaced where the server has been
    restarted meanwhile. For processes whose callers do not repeat what a lost connection interrupted.
    """
    if url.startswith("sqlite"):
        engine = create_engine(
            url, pool_size=pool_size, max_overflow=0, connect_args={"timeout": 30.0}, json_deserializer=read_json
        )
        _prepare_sqlite(engine)
        return Store(engine, threading.Lock())
    # `prepare_threshold=2`: the hot statements are few and run all day. Tasks need no test of a
    # connection: they repeat what a lost one interrupted.
    engine = create_engine(
        url,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=60.0,
        pool_use_lifo=True,
        json_deserializer=read_json,
        pool_pre_ping=tested,
        connect_args={"prepare_threshold": 2, "connect_timeout": 5, "application_name": "stepmill", **_NOTICE_SILENCE},
    )
    _begin_ourselves(engine)
    return Store(engine, at_once=True)


def read_json(text: str | bytes) -> Any:
    """A stored JSON value. One that is nested too deeply for Python's own reader is read by another."""
    try:
        return json.loads(text)
    except RecursionError:
        return orjson.loads(text)


def _begin_ourselves(engine: Engine) -> None:
    """Leaves PostgreSQL's connections in autocommit mode, and begins where a transaction is wanted.

    To switch a connection to that mode and back for each read takes as long as the read.
    """

    @event.listens_for(engine, "connect")
    def connected(raw: Any, _record: Any) -> None:
        raw.autocommit = True

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        if not connection.info.get(_READING):
            connection.exec_driver_sql("BEGIN")


# A network that swallows packets must not block a heartbeat for longer than it takes to be missed.
_NOTICE_SILENCE = {
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


def _prepare_sqlite(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def connected(raw: Any, _record: Any) -> None:
        raw.isolation_level = None  # transactions begin where we say, not where the driver guesses
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "busy_timeout=30000"):
            raw.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN" if connection.info.get(_READING) else "BEGIN IMMEDIATE")


_ID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(prefix: str) -> str:
    """A short id that sorts by time: `prefix_` + 9 characters of milliseconds + 9 random ones, in base 32."""
    value = (int(time.time() * 1000) << 45) | secrets.randbits(45)
    letters = []
    for _ in range(18):
        letters.append(_ID_ALPHABET[value & 31])
        value >>= 5
    return f"{prefix}_{''.join(reversed(letters))}"


def is_id(text: str, prefix: str) -> bool:
    """Whether a text has the form of such an id."""
    kind, _, letters = text.partition("_")
    return kind == prefix and 0 < len(letters) <= 40 and set(letters) <= set(_ID_ALPHABET)


def new_token() -> str:
    """A fencing token: unguessable and never repeated."""
    return secrets.token_hex(12)
