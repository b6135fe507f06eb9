"""Describes database errors in words for a log line, and separates outages from errors of single rows."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import InterfaceError, InternalError, OperationalError, SQLAlchemyError, TimeoutError

_POSTGRES_DISK_FULL = "53100"

NOT_OF_A_ROW = (OperationalError, InterfaceError, InternalError, TimeoutError)
"""Errors that mean the database is unreachable, full, locked or out of connections: no single row is to blame."""

_MOST_CHARS = 300


def short(error: Exception) -> str:
    """Returns the error as one line, cut to fit a column, without the statement and its parameters."""
    said = " ".join(str(getattr(error, "orig", None) or error).split())
    return f"{type(error).__name__}: {said}"[:_MOST_CHARS]


def trouble(error: SQLAlchemyError) -> str:
    """Describes an outage. A full disk is named, because only an operator can make room."""
    origin = getattr(error, "orig", None)
    on_sqlite = getattr(origin, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    if on_sqlite or getattr(origin, "sqlstate", None) == _POSTGRES_DISK_FULL:
        return "the database's disk is full"
    return f"the database is away ({type(error).__name__})"
