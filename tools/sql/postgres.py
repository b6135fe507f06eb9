"""PostgreSQL: a read-only transaction and a cursor, which accept only one SELECT; rolled back at the end."""

from __future__ import annotations

from typing import Any

import psycopg

from tools.kit.errors import ToolError
from tools.sql.functions import refuse_effects
from tools.sql.rows import plain_rows

_CONNECT_S = 5
_SCHEMA = """
    SELECT table_schema || '.' || table_name AS "table",
           string_agg(column_name || ' ' || data_type, ', ' ORDER BY ordinal_position) AS columns
    FROM information_schema.columns WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
    GROUP BY 1 ORDER BY 1
"""


def query(address: str, query: str | None, max_rows: int, time_s: float) -> dict[str, Any]:
    """Returns `{"columns", "rows", "more"}`; without a query the tables and their columns. Raises ToolError."""
    connection = _connect(address, time_s)
    try:
        _refuse_powers(connection)
        if query:
            refuse_effects(connection, query)
        return _rows(connection, (query or _SCHEMA).strip().rstrip(";"), max_rows)
    except psycopg.Error as error:
        raise ToolError(_told(error, time_s)) from error
    finally:
        connection.close()  # no commit: anything a function did is rolled back


def _connect(address: str, time_s: float) -> psycopg.Connection[Any]:
    milliseconds = int(time_s * 1000)
    options = (
        f"-c default_transaction_read_only=on -c statement_timeout={milliseconds} -c lock_timeout={milliseconds} "
        f"-c idle_in_transaction_session_timeout={milliseconds} -c client_connection_check_interval=500"
    )
    try:
        connection = psycopg.connect(address, options=options, connect_timeout=_CONNECT_S, application_name="stepmill")
    except psycopg.Error as error:
        raise ToolError(
            "The database cannot be reached now. Try once more, then go on without it.", retryable=True
        ) from error
    connection.read_only = True
    return connection


_POWERS = """
    SELECT r.rolname, r.rolsuper FROM pg_roles r
    WHERE pg_has_role(session_user, r.oid, 'MEMBER')
      AND (r.rolsuper OR r.rolreplication OR r.rolcreaterole OR r.rolname = ANY(%s))
    ORDER BY r.rolsuper DESC, r.rolname LIMIT 1
"""
_POWERFUL_ROLES = [
    "pg_read_server_files", "pg_write_server_files", "pg_execute_server_program", "pg_signal_backend",
    "pg_signal_autovacuum_worker", "pg_checkpoint", "pg_maintain", "pg_write_all_data", "pg_create_subscription",
]  # fmt: skip


def _refuse_powers(connection: psycopg.Connection[Any]) -> None:
    """Refuses superusers, who read and write the server's files, and roles that act whatever the transaction's mode."""
    row = connection.execute(_POWERS, (_POWERFUL_ROLES,)).fetchone()
    if row is None:
        return
    what = "a superuser" if row[1] else f"a role with the powers of {row[0]}"
    raise ToolError(f"The operator set this database up with {what}; it must be a role that may only read.")


def _rows(connection: psycopg.Connection[Any], query: str, max_rows: int) -> dict[str, Any]:
    """Fetches rows. The cursor's grammar refuses all but one query; the extended protocol, a second statement."""
    declared = connection.pgconn.exec_params(b"DECLARE asked NO SCROLL CURSOR FOR " + query.encode(), None)
    if declared.status != psycopg.pq.ExecStatus.COMMAND_OK:
        raise psycopg.errors.error_from_result(declared)
    cursor = connection.execute(f"FETCH FORWARD {max_rows + 1:d} FROM asked".encode())
    rows = cursor.fetchall()
    names = [column.name for column in cursor.description or ()]
    return {"columns": names, "rows": plain_rows(rows[:max_rows]), "more": len(rows) > max_rows}


def _told(error: psycopg.Error, time_s: float) -> str:
    message = (error.diag.message_primary or str(error)).strip()
    if isinstance(error, psycopg.errors.QueryCanceled | psycopg.errors.LockNotAvailable):
        return f"The query took longer than {time_s:.0f} s and was stopped. Make it do less, for example with a WHERE."
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        return f"The database refused it ({message}): it is read-only. Write one SELECT."
    if isinstance(error, psycopg.errors.SyntaxError | psycopg.errors.FeatureNotSupported):
        return f"The database says: {message}. Only one SELECT at a time is allowed, and it must only read."
    return f'The database says: {message}. Write "schema" as the query to see tables and columns.'
