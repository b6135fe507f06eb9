"""Counts the rows and pages that PostgreSQL visits for a piece of work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import orjson
from psycopg.pq import TransactionStatus
from sqlalchemy import event

from worker.store.session import Store

EXPLAINED = ("SELECT", "UPDATE", "INSERT", "DELETE", "WITH")


@dataclass
class Visited:
    """`rows` are those that scans returned or looked at in vain; `pages` are buffers, of rows that are dead too."""

    rows: int = 0
    pages: int = 0
    ms: float = 0.0


@contextmanager
def explained(store: Store) -> Iterator[Visited]:
    """Adds up the plans of all statements inside the block, except those sent for many parameter sets at once."""
    visited = Visited()

    def explain(conn: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        if not statement.lstrip().startswith(EXPLAINED) or not isinstance(parameters, dict):
            return
        # Run and undone, so that the statement itself finds things as they were.
        begin, undo = "SAVEPOINT explained", "ROLLBACK TO SAVEPOINT explained"
        if conn.connection.driver_connection.info.transaction_status == TransactionStatus.IDLE:
            begin, undo = "BEGIN", "ROLLBACK"
        with conn.connection.cursor() as raw:
            raw.execute(begin)
            raw.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", parameters)
            (found,) = raw.fetchone()
            raw.execute(undo)
        told = (orjson.loads(found) if isinstance(found, str) else found)[0]
        plan = told["Plan"]
        visited.ms += told["Execution Time"]
        visited.rows += _rows(plan)
        visited.pages += plan.get("Shared Hit Blocks", 0) + plan.get("Shared Read Blocks", 0)

    event.listen(store.engine, "before_cursor_execute", explain)
    try:
        yield visited
    finally:
        event.remove(store.engine, "before_cursor_execute", explain)


def visited_by(store: Store, work: Callable[[], object]) -> Visited:
    """What one piece of work visits."""
    with explained(store) as visited:
        work()
    return visited


def _rows(node: dict[str, Any]) -> int:
    in_vain = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    mine = round((node["Actual Rows"] + in_vain) * node["Actual Loops"]) if "Scan" in node["Node Type"] else 0
    return mine + sum(_rows(child) for child in node.get("Plans", []))
