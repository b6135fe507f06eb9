"""The sweeper's inspection: every check has its turn, and what is wrong is logged and counted once."""

from __future__ import annotations

import logging

import pytest
from sqlalchemy import select, update

from tests.services.counting import Counted
from tests.store.conftest import World
from worker.fleet.invariant_checker import EVERY_TICKS, InvariantChecker
from worker.store.recovery.invariants import HOT
from worker.store.schema.tables import active, workers


def a_round(world: World, inspector: InvariantChecker) -> list[str]:
    """Every check once."""
    found = [inspector.tick(lambda: world.worker_id) for _ in range(EVERY_TICKS * len(HOT))]
    return [violation.name for some in found for violation in some]


def counted(world: World) -> int:
    with world.store.read() as tx:
        return int(tx.execute(select(workers.c.violations).where(workers.c.id == world.worker_id)).scalar_one())


def test_a_violation_is_found_within_a_round_logged_and_counted_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    run_id, _ = world.start()
    inspector = InvariantChecker(world.store)
    assert a_round(world, inspector) == [] and counted(world) == 0
    with world.store.write() as tx:
        tx.execute(update(active).values(pending=3))
    with caplog.at_level(logging.ERROR):
        assert a_round(world, inspector) == ["pending_differs"]
        assert a_round(world, inspector) == [], "it is told once"
    assert counted(world) == 1
    (record,) = caplog.records
    assert run_id in record.getMessage() and "pending_differs" in record.getMessage()


def test_most_ticks_read_nothing_and_the_others_one_statement(world: World) -> None:
    inspector = InvariantChecker(world.store)
    with Counted(world.store.engine) as seen:
        for _ in range(EVERY_TICKS):
            inspector.tick(lambda: world.worker_id)
    assert len(seen.statements) == 1
