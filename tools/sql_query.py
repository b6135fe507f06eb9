"""Read-only SQL on the databases that the operator names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from tools.base import ToolContext, ToolError, tool
from tools.config import ToolSettings
from tools.kit.child import ChildLimits, call_in_child
from tools.kit.results import markdown_lines

TIME_S = 20.0
_SCHEMA_WORDS = frozenset({"", "schema", "tables", "show tables", "describe", ".tables", ".schema", r"\d", r"\dt"})


@tool(group="data", timeout_s=30.0, idempotent=True)
def sql_query(
    query: str,
    context: ToolContext,
    database: str | None = None,
    max_rows: Annotated[int, Field(ge=1, le=500)] = 50,
) -> str:
    """Runs one read-only SQL query and returns its rows as a table. Write "schema" to list tables and columns first.

    Args:
        query: One SELECT statement (WITH … SELECT too), or "schema".
        database: Which database; needed only where there are several.
        max_rows: How many rows to return at most.
    """
    name, address = _chosen(ToolSettings.of(context.settings).sql_databases, database)
    asked = None if query.strip().rstrip(";").lower() in _SCHEMA_WORDS else query
    time_s = max(0.1, min(TIME_S, context.remaining_s() - 1.0))
    target, place = _engine(address)
    payload = place | {"query": asked, "max_rows": max_rows if asked else 500, "time_s": time_s}
    found = call_in_child(target, payload, context, ChildLimits(time_s=time_s + 5.0), "The query")
    return _table(found, name)


def _chosen(databases: Mapping[str, str], wanted: str | None) -> tuple[str, str]:
    if not databases:
        raise ToolError("No database is set up here; the operator names them with STEPMILL_SQL_<NAME>=<address>.")
    name = wanted.strip().lower() if wanted else next(iter(databases))
    if name not in databases or (wanted is None and len(databases) > 1):
        asked = f'There is no database "{wanted}".' if wanted else "Say which database."
        raise ToolError(f"{asked} There are: {', '.join(databases)}.")
    return name, databases[name]


def _engine(address: str) -> tuple[str, dict[str, Any]]:
    scheme, _, rest = address.partition(":")
    if scheme in ("postgresql", "postgres"):
        return "tools.sql.postgres:query", {"address": address}
    if scheme == "sqlite":
        return "tools.sql.sqlite:query", {"path": rest.removeprefix("///") if rest.startswith("///") else rest}
    if "://" not in address:
        return "tools.sql.sqlite:query", {"path": address}
    raise ToolError(
        f"The operator set up an address of a kind that is not known ({scheme}); use sqlite: or postgresql:."
    )


def _table(found: dict[str, Any], name: str) -> str:
    if not found["rows"]:
        return f"No rows. (Columns: {', '.join(found['columns'])})" if found["columns"] else "No tables."
    lines = markdown_lines(found["columns"], found["rows"])
    if found["more"]:
        count = len(found["rows"])
        lines.append(f"(The first {count} rows; there are more. Use LIMIT and OFFSET, WHERE, or count(*) in {name}.)")
    return "\n".join(lines)
