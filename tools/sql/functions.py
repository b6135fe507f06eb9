"""Which functions a query may call on PostgreSQL: those that only read, by the database's own word for each."""

from __future__ import annotations

import re
from typing import Any

import psycopg

from tools.kit.errors import ToolError

_HARMLESS = frozenset(
    {
        "random", "random_normal", "setseed", "clock_timestamp", "timeofday", "gen_random_uuid", "uuidv4", "uuidv7",
        "array_shuffle", "array_sample", "pg_table_size", "pg_indexes_size", "pg_relation_size",
        "pg_total_relation_size", "pg_database_size", "pg_tablespace_size",
    }
)  # fmt: skip
"""Built-in functions that PostgreSQL calls volatile and that change nothing."""
_REFUSED = frozenset(
    {
        # They run a query that they are given as text, which nobody has looked at.
        "query_to_xml", "query_to_xmlschema", "query_to_xml_and_xmlschema", "cursor_to_xml", "cursor_to_xmlschema",
        "crosstab", "crosstab2", "crosstab3", "crosstab4", "crosstab_hash", "connectby", "xpath_table",
        # They take a transaction number, and with it an entry in the server's log.
        "txid_current", "pg_current_xact_id",
    }
)  # fmt: skip
"""Functions that PostgreSQL calls stable and that are not harmless."""

_WORD = re.compile(r"(?:[A-Za-z_]|[^\x00-\x7f])(?:[\w$]|[^\x00-\x7f])*")
"""An identifier: beyond ASCII PostgreSQL takes every character for a letter."""
_NAMED = """
    SELECT DISTINCT p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE (p.proname = ANY(%s) OR lower(p.proname) = ANY(%s)
           OR (p.proname ~ '[^[:alnum:]_$]' AND position(p.proname IN %s) > 0))
      AND (p.proname = ANY(%s) OR p.prokind = 'p'
           OR (p.provolatile = 'v' AND NOT (n.nspname = 'pg_catalog' AND p.proname = ANY(%s))))
    ORDER BY 1
"""


def refuse_effects(connection: psycopg.Connection[Any], query: str) -> None:
    """ToolError where the query calls a function that is volatile, or that runs text as a query.

    PostgreSQL marks each function: a stable or immutable one cannot change the database. What stands before a
    parenthesis counts as called, in strings and comments too, so that nothing can hide a call.
    """
    if re.search(r"\bu&\s*\"", query, re.IGNORECASE):
        raise ToolError('Names written as U&"…" are not allowed. Write the name itself.')
    names = sorted(called_names(query))
    lowered = sorted({name.lower() for name in names})
    rows = connection.execute(
        _NAMED, (names, lowered, query.replace('""', '"'), sorted(_REFUSED), sorted(_HARMLESS))
    ).fetchall()
    if rows:
        found = ", ".join(str(row[0]) for row in rows)
        raise ToolError(
            f"The query calls {found}, which may have effects; only functions that read are allowed. "
            "(Where such a function is the operator's own and only reads, ALTER FUNCTION … STABLE says so.)"
        )


def called_names(query: str) -> set[str]:
    """Every word that a parenthesis follows, with nothing but white space, comments and a closing quote between."""
    return {found.group() for found in _WORD.finditer(query) if _opens(query, found.end())}


def _opens(query: str, place: int) -> bool:
    place += query[place : place + 1] == '"'
    while True:
        blank = re.compile(r"\s*").match(query, place)
        place = blank.end() if blank else place
        if query.startswith("--", place):
            end = re.compile(r"[^\r\n]*").match(query, place)
            place = end.end() if end else len(query)
        elif query.startswith("/*", place):
            place = _comment_end(query, place)
        else:
            return query.startswith("(", place)


def _comment_end(query: str, place: int) -> int:
    """Behind the comment that opens at `place`; comments nest in PostgreSQL. One without an end takes all."""
    depth = 0
    for found in re.compile(r"/\*|\*/").finditer(query, place):
        depth += 1 if found.group() == "/*" else -1
        if depth == 0:
            return found.end()
    return len(query)
