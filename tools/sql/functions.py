"""Decides which functions a query may call on PostgreSQL: those that only read, as the database marks them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import psycopg

from tools.kit.errors import ToolError

_HARMLESS = frozenset(
    {
        "random", "random_normal", "setseed", "clock_timestamp", "timeofday", "gen_random_uuid", "uuidv4", "uuidv7",
        "array_shuffle", "array_sample", "pg_table_size", "pg_indexes_size", "pg_relation_size",
        "pg_total_relation_size", "pg_database_size", "pg_tablespace_size", "bernoulli", "system",
    }
)  # fmt: skip
"""Built-in functions that PostgreSQL calls volatile but that change nothing."""
_REFUSED = frozenset(
    {
        # These run a query given as text, which was not checked.
        "query_to_xml", "query_to_xmlschema", "query_to_xml_and_xmlschema", "cursor_to_xml", "cursor_to_xmlschema",
        "crosstab", "crosstab2", "crosstab3", "crosstab4", "crosstab_hash", "connectby", "xpath_table",
        # These take a transaction number, and with it an entry in the server's log.
        "txid_current", "pg_current_xact_id",
    }
)  # fmt: skip
"""Functions that PostgreSQL calls stable but that are not harmless."""

_WORD = re.compile(r"(?:[A-Za-z_]|[^\x00-\x7f])(?:[\w$]|[^\x00-\x7f])*")
"""An identifier; PostgreSQL takes every character beyond ASCII for a letter."""
_REACHED = """
    WITH effects AS (
        SELECT p.oid, p.proname::text AS name, p.proargtypes[0] AS given
        FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE p.proname = ANY(%(refused)s) OR p.prokind = 'p'
           OR (p.provolatile = 'v' AND NOT (n.nspname = 'pg_catalog' AND p.proname = ANY(%(harmless)s)))
    ), called AS (
        SELECT name, name AS shown FROM effects
        UNION  -- an aggregate is marked immutable, whatever its functions are
        SELECT p.proname, p.proname || ' with ' || e.name
        FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid JOIN effects e ON e.oid IN (
            aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn, aggmtransfn, aggminvtransfn, aggmfinalfn)
    ), own_type AS (
        SELECT t.oid, t.typname FROM pg_type t WHERE t.typnamespace <> 'pg_catalog'::regnamespace
    ), own_operator AS (  -- one that is written like a common one takes a type of its own, which must be at hand
        SELECT o.oprname, o.oprcode, o.oprrest, o.oprjoin FROM pg_operator o
        WHERE NOT EXISTS (SELECT FROM pg_operator c
                          WHERE c.oprname = o.oprname AND c.oprnamespace = 'pg_catalog'::regnamespace)
           OR NOT EXISTS (SELECT FROM own_type t WHERE t.oid IN (o.oprleft, o.oprright))
           OR EXISTS (SELECT FROM own_type t LEFT JOIN pg_attribute a ON a.atttypid = t.oid
                      LEFT JOIN pg_class c ON c.oid = a.attrelid
                      WHERE t.oid IN (o.oprleft, o.oprright)
                        AND (t.typname = ANY(%(words)s) OR c.relname = ANY(%(words)s)))
    )
    SELECT shown FROM called
    WHERE name = ANY(%(called)s) OR lower(name) = ANY(%(called)s)
       OR (name ~ '[^[:alnum:]_$]' AND position(name IN %(query)s) > 0)
    UNION  -- `row.function` is `function(row)`
    SELECT e.name FROM effects e JOIN pg_type t ON t.oid = e.given
    WHERE (t.typtype = 'c' OR t.typname IN ('record', 'anyelement', 'anycompatible'))
      AND (e.name = ANY(%(attributes)s) OR lower(e.name) = ANY(%(attributes)s))
    UNION
    SELECT o.oprname || ' with ' || e.name FROM own_operator o JOIN effects e ON e.oid IN (oprcode, oprrest, oprjoin)
    WHERE position(o.oprname IN %(query)s) > 0
    UNION
    SELECT 'the cast to ' || t.typname || ' with ' || e.name
    FROM pg_cast c JOIN effects e ON e.oid = c.castfunc JOIN pg_type t ON t.oid = c.casttarget
    WHERE t.typname = ANY(%(words)s) OR split_part(format_type(t.oid, NULL), ' ', 1) = ANY(%(words)s)
    ORDER BY 1
"""
"""Every way to call a function without its name: aggregates, attributes of rows, operators and casts.

What the operator put into a view, a policy or a type's own check may run: it is meant for every reader.
"""


def refuse_effects(connection: psycopg.Connection[Any], query: str) -> None:
    """Raises ToolError if the query calls a function that is volatile, or that runs text as a query.

    PostgreSQL marks each function: a stable or immutable one cannot change the database. Any word before a
    parenthesis counts as called, in strings and comments too, so that no call can be hidden.
    """
    if re.search(r"\bu&\s*\"", query, re.IGNORECASE):
        raise ToolError('Names written as U&"…" are not allowed. Write the name itself.')
    values = {
        "called": _either_case(called_names(query)),
        "attributes": _either_case(attributes(query)),
        "words": _either_case(_WORD.findall(query)),
        "query": query.replace('""', '"'),
        "refused": sorted(_REFUSED),
        "harmless": sorted(_HARMLESS),
    }
    rows = connection.execute(_REACHED, values).fetchall()
    if rows:
        found = ", ".join(str(row[0]) for row in rows)
        raise ToolError(
            f"The query calls {found}, which may have effects; only functions that read are allowed. "
            "(Where such a function is the operator's own and only reads, ALTER FUNCTION … STABLE says so.)"
        )


def called_names(query: str) -> set[str]:
    """Returns every word before a parenthesis, with only white space, comments and a closing quote between."""
    return {found.group() for found in _WORD.finditer(query) if _opens(query, found.end())}


def attributes(query: str) -> set[str]:
    """Returns every word after a full stop, with only white space, comments and an opening quote between."""
    places = (_behind_blanks(query, found.end()) for found in re.finditer(r"\.", query))
    words = (_WORD.match(query, place + (query[place : place + 1] == '"')) for place in places)
    return {word.group() for word in words if word}


def _either_case(names: Iterable[str]) -> list[str]:
    """Returns the names as they are written, for quoted ones, and as the database reads the others."""
    return sorted({form for name in names for form in (name, name.lower())})


def _opens(query: str, place: int) -> bool:
    place += query[place : place + 1] == '"'
    return query.startswith("(", _behind_blanks(query, place))


def _behind_blanks(query: str, place: int) -> int:
    """Returns the position after the white space and comments that begin at `place`."""
    while True:
        blank = re.compile(r"\s*").match(query, place)
        place = blank.end() if blank else place
        if query.startswith("--", place):
            end = re.compile(r"[^\r\n]*").match(query, place)
            place = end.end() if end else len(query)
        elif query.startswith("/*", place):
            place = _comment_end(query, place)
        else:
            return place


def _comment_end(query: str, place: int) -> int:
    """Returns the position after the comment at `place`; comments nest. An unclosed one runs to the end."""
    depth = 0
    for found in re.compile(r"/\*|\*/").finditer(query, place):
        depth += 1 if found.group() == "/*" else -1
        if depth == 0:
            return found.end()
    return len(query)
