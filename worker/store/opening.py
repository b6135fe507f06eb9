"""Opening a database: the connection settings of SQLite and PostgreSQL, and the hot-path writes that each uses."""

from __future__ import annotations

import json
import select
import threading
from contextlib import nullcontext
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import InvalidatePoolError

from worker.store.hot.portable import PORTABLE
from worker.store.hot.postgres import POSTGRES
from worker.store.session import READING, Store


def open_store(url: str, pool_size: int = 8, *, tested: bool = False) -> Store:
    """Opens the database without migrating it; `stepmill db upgrade` does that.

    With `tested`, each connection is checked before use and replaced if the server has closed it. This is for
    processes whose callers do not retry what a lost connection interrupted.
    """
    if url.startswith("sqlite"):
        engine = create_engine(
            url, pool_size=pool_size, max_overflow=0, connect_args={"timeout": 30.0}, json_deserializer=read_json
        )
        _prepare_sqlite(engine)
        return Store(engine, threading.Lock(), PORTABLE)
    # `prepare_threshold=2`: the hot statements are few and run all day. Tasks need no connection check: they
    # retry what a lost connection interrupted.
    engine = create_engine(
        url,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=60.0,
        pool_use_lifo=True,
        json_deserializer=read_json,
        connect_args={"prepare_threshold": 2, "connect_timeout": 5, "application_name": "stepmill", **_NOTICE_SILENCE},
    )
    _begin_ourselves(engine)
    if tested:
        _look_before_use(engine)
    return Store(engine, nullcontext(), POSTGRES)


def read_json(text: str | bytes) -> Any:
    """Parses a stored JSON value. orjson takes over if the nesting is too deep for Python's own parser."""
    try:
        return json.loads(text)
    except RecursionError:
        return orjson.loads(text)


def _begin_ourselves(engine: Engine) -> None:
    """Keeps PostgreSQL connections in autocommit mode and sends BEGIN only when a transaction is wanted.

    Switching the mode back and forth for each read would take as long as the read itself.
    """

    @event.listens_for(engine, "connect")
    def connected(raw: Any, _record: Any) -> None:
        raw.autocommit = True

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        if not connection.info.get(READING):
            connection.exec_driver_sql("BEGIN")


def _look_before_use(engine: Engine) -> None:
    """Replaces all connections once the server has closed one. The socket shows it, without a round trip per use.

    The server sends nothing on an idle connection unless it closes it.
    """

    @event.listens_for(engine, "checkout")
    def taken(raw: Any, _record: Any, _proxy: Any) -> None:
        if raw.closed or _has_something_to_read(raw.fileno()):
            raise InvalidatePoolError("The server has closed the connection.")


def _has_something_to_read(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


# If the network drops packets silently, a heartbeat must fail before the worker is declared dead.
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
        raw.isolation_level = None  # transactions begin explicitly, not when the driver chooses
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "busy_timeout=30000"):
            raw.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN" if connection.info.get(READING) else "BEGIN IMMEDIATE")
