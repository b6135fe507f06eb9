"""SQLite: opened read-only, with `query_only`, an authorizer that allows only reading, and a timer that interrupts."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

from tools.kit.errors import ToolError
from tools.sql.rows import plain_rows

_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_REFUSED_FUNCTIONS = {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"}
_PRAGMAS = {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list"}
_STEPS_BETWEEN_LOOKS = 10_000
_HEAP_BYTES = 256 * 2**20
"""For everything that a query holds, sorting and grouping included: nothing is written to disk."""
_SCHEMA = """
    SELECT m.name AS "table", group_concat(p.name || ' ' || p.type, ', ') AS columns
    FROM sqlite_master m JOIN pragma_table_info(m.name) p
    WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite_%' GROUP BY m.name ORDER BY m.name
"""


def query(path: str, query: str | None, max_rows: int, time_s: float) -> dict[str, Any]:
    """Returns `{"columns", "rows", "more"}`; without a query the tables and their columns. Raises ToolError."""
    if not Path(path).is_file():
        raise ToolError("The database file does not exist on this worker; tell the operator.")
    connection = sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True, timeout=5.0)
    try:
        _restrict(connection, time.monotonic() + time_s)
        if query:  # our own query for the schema needs tables that the authorizer refuses
            connection.set_authorizer(_authorize)
        cursor = connection.execute(query or _SCHEMA)
        if cursor.description is None:
            raise ToolError("Only queries that return rows are allowed: write one SELECT.")
        rows = cursor.fetchmany(max_rows + 1)
        names = [column[0] for column in cursor.description]
        return {"columns": names, "rows": plain_rows(rows[:max_rows]), "more": len(rows) > max_rows}
    except MemoryError:
        raise ToolError(
            f"The query needs more than {_HEAP_BYTES >> 20} MB to sort or group in. Make it do less, for example with "
            "a WHERE or fewer columns."
        ) from None
    except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
        raise ToolError(_told(str(error), time_s)) from error
    finally:
        connection.close()


def _restrict(connection: sqlite3.Connection, ends_at: float) -> None:
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute(f"PRAGMA hard_heap_limit = {_HEAP_BYTES}")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10_000_000)
    connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 100_000)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000)
    connection.set_progress_handler(lambda: time.monotonic() > ends_at, _STEPS_BETWEEN_LOOKS)


def _authorize(action: int, first: str | None, second: str | None, _database: str | None, _trigger: str | None) -> int:
    if action in _READING:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in _REFUSED_FUNCTIONS:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and (first or "").lower() in _PRAGMAS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _told(message: str, time_s: float) -> str:
    if "interrupted" in message:
        return f"The query took longer than {time_s:.0f} s and was stopped. Make it do less, for example with a WHERE."
    if "not authorized" in message or "readonly" in message or "prohibited" in message:
        return f"The database refused it ({message}): it is read-only. Write one SELECT."
    if "one statement" in message:
        return "Only one statement at a time is allowed. Write one SELECT."
    return f'The database says: {message}. Write "schema" as the query to see tables and columns.'
