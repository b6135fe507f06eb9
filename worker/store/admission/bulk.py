"""Storing many runs at once: COPY on PostgreSQL, which takes a quarter of the time, `executemany` on SQLite."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
import psycopg
from sqlalchemy import Connection, insert
from sqlalchemy.exc import DBAPIError

from worker.core.records import JsonObject
from worker.store.schema.tables import runs

_COLUMNS = (
    "id", "batch_id", "owner_id", "seq", "custom_id", "question", "config_hash", "metadata", "expected", "created_at",
)  # fmt: skip
_COPY = f"COPY runs ({', '.join(_COLUMNS)}) FROM STDIN"


def insert_runs(tx: Connection, rows: Sequence[JsonObject]) -> None:
    """Stores new runs. Raises what an INSERT would, `IntegrityError` for a repeated custom_id among them."""
    if tx.dialect.name != "postgresql":
        tx.execute(insert(runs), rows)
        return
    driver = tx.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    try:
        with driver.cursor() as cursor, cursor.copy(_COPY) as copy:
            for row in rows:
                copy.write_row([_metadata(row[name]) if name == "metadata" else row[name] for name in _COLUMNS])
    except psycopg.Error as error:
        raise DBAPIError.instance(_COPY, None, error, psycopg.Error) from error


def _metadata(value: JsonObject | None) -> str | None:
    return None if value is None else orjson.dumps(value).decode()
