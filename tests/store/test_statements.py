"""What each write costs in statements. The numbers are exact, so that they are raised on purpose or not at all."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis

from tests.services.counting import Counted
from tests.store.conftest import RECORD, SPENT, World, world_on
from worker.core.config import RunConfig
from worker.core.machine import decide_think
from worker.core.moves import Acted, Answered, NewCall
from worker.store.admission.submit import NewBatch, NewRun, add_runs, open_batch, seal
from worker.store.configurations import put_configuration
from worker.store.hot.postgres import POSTGRES
from worker.store.hot.writes import apply_think, claim_think, start_call
from worker.store.session import Store


@pytest.fixture
def world(store_each_way: Store) -> World:
    return world_on(store_each_way)


CALL = NewCall("calculator", {"expression": "1+1"}, "tools.local")


def cost(world: World, work: Callable[[], object]) -> int:
    """Statements of one transaction, without its BEGIN and COMMIT; a single one may be a transaction of its own."""
    with Counted(world.store.engine) as counted:
        assert work() not in (None, False)
    assert counted.transactions == 1 or len(counted.statements) == 1, counted.statements
    return len(counted.statements)


def test_a_step_with_one_tool_call_costs_so_many_statements(world: World) -> None:
    _, work_message = world.start()
    lease, at_once = world.lease(work_message), world.store.hot is POSTGRES
    assert cost(world, lambda: claim_think(world.store, lease)) == (1 if at_once else 2)
    acted = decide_think(world.hot_view(work_message), Acted((CALL,), "I add."), RunConfig())
    assert cost(world, lambda: apply_think(world.store, lease, acted, SPENT, RECORD)) == (1 if at_once else 4)
    call_lease = world.lease(world.pending(work_message))
    assert cost(world, lambda: world.claim(call_lease)) == (1 if at_once else 3)
    assert cost(world, lambda: start_call(world.store, call_lease)) == (1 if at_once else 3)
    assert cost(world, lambda: world.observe(call_lease)) == (1 if at_once else 5)


def test_ever_more_calls_in_a_step_cost_no_more_statements_when_they_are_asked_for(world: World) -> None:
    _, work_message = world.start()
    lease = world.lease(work_message)
    claim_think(world.store, lease)
    acted = decide_think(world.hot_view(work_message), Acted((CALL,) * 20, "I add."), RunConfig())
    assert cost(world, lambda: apply_think(world.store, lease, acted, SPENT, RECORD)) == (
        1 if world.store.hot is POSTGRES else 4
    )


def test_an_answer_costs_so_many_statements(world: World) -> None:
    _, work_message = world.start()
    lease = world.lease(work_message)
    claim_think(world.store, lease)
    answered = decide_think(world.hot_view(work_message), Answered("Two."), RunConfig())
    assert cost(world, lambda: apply_think(world.store, lease, answered, SPENT, RECORD)) == (
        1 if world.store.hot is POSTGRES else 5
    )


def test_an_admission_costs_as_many_statements_for_one_run_as_for_hundreds(world: World) -> None:
    lock = 1 if world.store.postgres else 0
    world.submit(1)
    world.admit()  # the row of the order itself is made once
    for count in (1, 300):
        _, ids = world.submit(count)
        with Counted(world.store.engine) as counted:
            assert len(world.admit().work_messages) == len(ids)
        assert counted.transactions == 1
        assert len(counted.statements) == lock + 14, counted.statements


def test_settling_costs_as_many_statements_for_one_ending_as_for_many(world: World) -> None:
    costs = []
    for count in (1, 40):
        world.submit(count)
        for work_message in world.admit().work_messages:
            world.answer(work_message)
        with Counted(world.store.engine) as counted:
            assert world.admit().settled == count
        costs.append(len(counted.statements))
    assert costs[0] == costs[1]


def test_submitting_costs_one_statement_for_each_chunk_beside_its_rows(world: World) -> None:
    config = put_configuration(world.store, RunConfig(name="assistant"))
    batch_id, _ = open_batch(world.store, NewBatch())
    new = [NewRun("What is 1 + 1?", config)] * 500
    rows = 0 if world.store.postgres else 1  # on PostgreSQL they are copied in, past the statements
    assert cost(world, lambda: add_runs(world.store, batch_id, "local", 1, new)) == 1 + rows
    assert cost(world, lambda: seal(world.store, batch_id)) == 1


def test_commands_to_redis_are_counted_too(world: World, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        client.ping()
        with Counted(world.store.engine, client) as counted:
            client.set("a", "1")
            client.get("a")
            client.get("a")
    assert (counted.redis["get"], counted.redis["set"], counted.statements) == (2, 1, [])
