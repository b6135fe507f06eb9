"""What is wrong with a database that does not do as it is told, in words for a log line."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import InterfaceError, InternalError, OperationalError, SQLAlchemyError, TimeoutError

_POSTGRES_DISK_FULL = "53100"

NOT_OF_A_ROW = (OperationalError, InterfaceError, InternalError, TimeoutError)
"""What says that the database is away, full, locked or out of connections: no row is to blame."""

_MOST_CHARS = 300


def short(error: Exception) -> str:
    """An error as one line that fits into a row: without statement and parameters."""
    said = " ".join(str(getattr(error, "orig", None) or error).split())
    return f"{type(error).__name__}: {said}"[:_MOST_CHARS]


def trouble(error: SQLAlchemyError) -> str:
    """A full disk is told apart: nobody but an operator makes room."""
    origin = getattr(error, "orig", None)
    on_sqlite = getattr(origin, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    if on_sqlite or getattr(origin, "sqlstate", None) == _POSTGRES_DISK_FULL:
        return "the database's disk is full"
    return f"the database is away ({type(error).__name__})"
