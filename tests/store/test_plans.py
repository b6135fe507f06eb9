"""On PostgreSQL, hot statements visit as many rows with a hundred thousand queued runs as with a thousand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from psycopg.pq import TransactionStatus
from sqlalchemy import event, text

from tests.store.conftest import World
from worker.core.config import RunConfig
from worker.store.admission.submit import NewBatch, open_batch, seal
from worker.store.configurations import put_configuration
from worker.store.control.stopping import pause_batch
from worker.store.hot.writes import claim_think
from worker.store.recovery.sweeps import unanswered
from worker.store.session import Store

FEW, MANY = 1_000, 100_000
ADMITTED = 40
BOUNDS = {"admission": 10 * ADMITTED, "claim": 3 * ADMITTED, "unanswered": 6 * ADMITTED}
"""Rows that may be looked at, from the size of the hot set alone."""

_FILL = """
INSERT INTO runs (id, batch_id, owner_id, seq, question, config_hash)
SELECT :prefix || n, :batch, 'local', n, 'What is 1 + 1?', :config FROM generate_series(1, :count) AS n
"""


def fill(world: World, count: int) -> str:
    """A sealed batch of many runs, made inside the database."""
    config = put_configuration(world.store, RunConfig(name="assistant"))
    batch_id, _ = open_batch(world.store, NewBatch())
    with world.store.write() as tx:
        tx.execute(text(_FILL), {"prefix": f"{batch_id}-", "batch": batch_id, "config": config, "count": count})
        tx.execute(text("UPDATE batches SET total = :count WHERE id = :batch"), {"count": count, "batch": batch_id})
    seal(world.store, batch_id)
    with world.store.read() as connection:
        connection.execute(text("ANALYZE"))
    return batch_id


def rows_visited(store: Store, work: Callable[[], object]) -> int:
    """Rows that the plans of all statements of `work` touched: returned by each scan, and looked at in vain."""
    visited = 0
    explaining = False

    def explain(conn: Any, cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        nonlocal visited, explaining
        if explaining or not statement.lstrip().startswith(("SELECT", "UPDATE", "INSERT", "DELETE", "WITH")):
            return
        if not isinstance(parameters, dict):
            return  # an executemany, by primary key
        explaining = True
        # Planned, run and undone, so that the statement itself finds things as they were. Reads have no transaction.
        begin, undo = "SAVEPOINT explained", "ROLLBACK TO SAVEPOINT explained"
        if conn.connection.driver_connection.info.transaction_status == TransactionStatus.IDLE:
            begin, undo = "BEGIN", "ROLLBACK"
        raw = conn.connection.cursor()
        raw.execute(begin)
        raw.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters)
        plan = raw.fetchone()[0]
        raw.execute(undo)
        raw.close()
        visited += _rows((plan if isinstance(plan, list) else json.loads(plan))[0]["Plan"])
        explaining = False

    event.listen(store.engine, "before_cursor_execute", explain)
    try:
        assert work() is not None
    finally:
        event.remove(store.engine, "before_cursor_execute", explain)
    return visited


def _rows(node: dict[str, Any]) -> int:
    loops = node.get("Actual Loops", 1)
    vain = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    mine = round((node["Actual Rows"] + vain) * loops) if "Scan" in node["Node Type"] else 0
    return mine + sum(_rows(child) for child in node.get("Plans", []))


def costs(world: World) -> dict[str, int]:
    """Rows visited by one admission, by one claim and by one look for unanswered work messages."""
    work_messages: list[Any] = []

    def admit() -> int:
        work_messages.extend(world.admit(hot_set=ADMITTED).work_messages)
        return len(work_messages)

    admission = rows_visited(world.store, admit)
    assert len(work_messages) == ADMITTED
    claim = rows_visited(world.store, lambda: claim_think(world.store, world.lease(work_messages[0])))
    look = rows_visited(world.store, lambda: unanswered(world.store, 0.0))
    return {"admission": admission, "claim": claim, "unanswered": look}


def reset(world: World) -> None:
    with world.store.write() as tx:
        tx.execute(text("TRUNCATE active, attempts"))


@pytest.fixture
def few(postgres_world: World) -> dict[str, int]:
    """The costs with a thousand runs; the batch is done with afterwards."""
    fill(postgres_world, FEW)
    found = costs(postgres_world)
    reset(postgres_world)
    with postgres_world.store.write() as tx:
        tx.execute(text("UPDATE batches SET state = 'done', finished_at = 1"))
    return found


def compare(few: dict[str, int], many: dict[str, int]) -> None:
    for name, bound in BOUNDS.items():
        assert many[name] <= bound and many[name] <= 2 * few[name], (name, few, many)


def test_a_hundred_times_as_many_queued_runs_are_not_looked_at(postgres_world: World, few: dict[str, int]) -> None:
    fill(postgres_world, MANY)
    many = costs(postgres_world)
    compare(few, many)


def test_a_great_paused_batch_ahead_is_not_looked_at(postgres_world: World, few: dict[str, int]) -> None:
    pause_batch(postgres_world.store, fill(postgres_world, MANY * 9 // 10))
    fill(postgres_world, MANY // 10)
    many = costs(postgres_world)
    compare(few, many)


def test_a_head_behind_ninety_thousand_admitted_runs_is_found_at_once(
    postgres_world: World, few: dict[str, int]
) -> None:
    batch_id = fill(postgres_world, MANY)
    with postgres_world.store.write() as tx:
        tx.execute(text("UPDATE runs SET state = 'succeeded' WHERE batch_id = :b AND seq <= 90000"), {"b": batch_id})
        tx.execute(text("UPDATE batches SET watermark = 90000 WHERE id = :b"), {"b": batch_id})
    compare(few, costs(postgres_world))


def test_nearly_all_updates_of_hot_rows_touch_no_index(postgres_world: World) -> None:
    world = postgres_world
    world.submit(20)
    work_messages = list(world.admit().work_messages)
    for _ in range(3):
        tools = [tool for work_message in work_messages for tool in world.act(work_message, calls=2)]
        moved = [world.observe(world.call(tool).lease) for tool in tools]
        work_messages = [work_message for applied in moved if applied for work_message in applied.work_messages]
    assert len(work_messages) == 20
    with world.store.read() as tx:
        # The statistics of this session are written out at the latest when they are asked for.
        tx.execute(text("SELECT pg_stat_force_next_flush()"))
    for table in ("active", "tool_calls", "attempts"):
        assert _hot_share(world, table) > 0.9, table


def _hot_share(world: World, table: str) -> float:
    world.store.dispose()  # backends report what they counted when they end
    query = text("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = :table")
    with world.store.read() as tx:
        updated, hot = tx.execute(query, {"table": table}).one()
    assert updated >= 60
    return float(hot) / float(updated)
