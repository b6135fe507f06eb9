"""Dead, restarted, frozen and cut-off workers: their work continues elsewhere, once, without blaming others."""

from __future__ import annotations

import pytest

from tests.store.conftest import SPENT, World, world_on
from worker.core.config import RunConfig
from worker.core.machine import decide_think, unknown_outcome
from worker.core.moves import Answered
from worker.core.records import Usage
from worker.core.spending import Spent
from worker.core.states import Outcome, WorkerState
from worker.core.work_messages import WorkMessage
from worker.store.hot.interface import Applied
from worker.store.hot.late_usage import note_waste
from worker.store.hot.parameters import hot_of
from worker.store.hot.writes import apply_think, claim_call, claim_think, start_call
from worker.store.recovery.liveness import Pulse, beat, beats, declare_dead, set_state
from worker.store.recovery.takeover import abandoned, attempt_lease, held_by, release, work_messages_of
from worker.store.session import CLOCK, Store

DEAD_AFTER = 5


@pytest.fixture
def world(store_each_way: Store) -> World:
    return world_on(store_each_way)


def take_over(world: World, idempotent: dict[str, bool] | None = None) -> list[WorkMessage]:
    """One sweep: everything abandoned is released."""
    results = [release(world.store, held, idempotent or {}, "its worker died") for held in abandoned(world.store)]
    return work_messages_of(results)


def die(world: World, worker_id: str) -> None:
    assert declare_dead(world.store, worker_id, beats(world.store)[worker_id])


def test_a_worker_restarted_under_its_old_name_is_another_worker_and_its_old_leases_are_taken_over_once(
    world: World, stepped_clock: None
) -> None:
    run_id, work_message = world.start()
    old = world.worker("host-1")
    pulse = Pulse(DEAD_AFTER)
    work = world.think(work_message, old)
    pulse.tick(beats(world.store))
    CLOCK.moment = 1_000_003.0  # killed; three seconds later it is there again
    new = world.worker("host-1")
    assert new != old
    suspects: dict[str, int] = {}
    for _ in range(DEAD_AFTER):
        assert take_over(world) == [], "nothing is taken over before its worker is known to be dead"
        assert beat(world.store, new) and beat(world.store, world.worker_id)
        suspects = pulse.tick(beats(world.store))
    assert suspects == {old: 0}
    assert declare_dead(world.store, old, 0) and not declare_dead(world.store, old, 0)
    (again,) = take_over(world)
    assert take_over(world) == []
    assert (again.run_id, again.attempt) == (run_id, 2)
    assert world.think(again, new).hot.deaths == 1
    assert world.attempt(work.lease).outcome == "lost"


def test_an_outage_of_the_database_longer_than_the_heartbeat_limit_declares_nobody_dead(world: World) -> None:
    pulse = Pulse(DEAD_AFTER)
    seen = beats(world.store)
    for _ in range(DEAD_AFTER - 1):
        assert pulse.tick(seen) == {}
    for _ in range(100):
        pulse.missed()
    for _ in range(DEAD_AFTER - 1):
        assert pulse.tick(seen) == {}, "counting begins anew after an outage"
    assert beat(world.store, world.worker_id)
    assert pulse.tick(beats(world.store)) == {}


def test_a_clock_that_jumps_declares_nobody_dead(world: World, stepped_clock: None) -> None:
    pulse = Pulse(DEAD_AFTER)
    pulse.tick(beats(world.store))
    CLOCK.moment = 9_000_000.0
    assert pulse.tick(beats(world.store)) == {}


def test_an_owner_that_beats_between_the_look_and_the_verdict_lives(world: World) -> None:
    seen = beats(world.store)[world.worker_id]
    assert beat(world.store, world.worker_id)
    assert not declare_dead(world.store, world.worker_id, seen)


def test_a_frozen_worker_that_wakes_after_takeover_writes_nothing_but_its_waste(world: World) -> None:
    run_id, work_message = world.start()
    _, other = world.start()
    frozen = world.worker()
    work = world.think(work_message, frozen)
    die(world, frozen)
    (again,) = take_over(world)
    assert not beat(world.store, frozen)
    decision = decide_think(work.hot, Answered("too late"), RunConfig())
    assert apply_think(world.store, work.lease, decision, SPENT) is None
    assert claim_think(world.store, world.lease(other, frozen)) is None
    assert claim_think(world.store, world.lease(again, frozen)) is None
    waste = Spent(Outcome.FENCED, usage=Usage(100, 0, 20), cost_usd=0.5, wasted=True, billed=True)
    note_waste(world.store, work.lease, waste)
    hot = world.hot(run_id)
    assert (hot.step, hot.attempt, hot.token, hot.wasted_tokens) == (1, 2, None, 120)
    assert not set_state(world.store, frozen, WorkerState.STOPPED), "that is final"


def test_a_draining_worker_claims_nothing_and_its_leases_are_handed_back_without_blame(world: World) -> None:
    run_id, work_message = world.start()
    worker = world.worker()
    world.think(work_message, worker)
    set_state(world.store, worker, WorkerState.DRAINING)
    _, other = world.start()
    assert claim_think(world.store, world.lease(other, worker)) is None
    for _ in range(5):
        (held,) = held_by(world.store, worker, Outcome.HANDED_BACK)
        (again,) = work_messages_of([release(world.store, held, {}, "its worker was stopped")])
        set_state(world.store, worker, WorkerState.UP)
        world.think(again, worker)
    hot = world.hot(run_id)
    assert (hot.deaths, hot.quarantined, hot.failures, hot.attempts) == (0, False, 0, 0)


@pytest.mark.parametrize("idempotent", [True, False])
@pytest.mark.parametrize("begun", [True, False])
def test_a_tool_call_lost_with_its_worker_is_repeated_only_where_that_is_sound(
    world: World, begun: bool, idempotent: bool
) -> None:
    run_id, work_message = world.start()
    (tool_work_message,) = world.act(work_message)
    dead = world.worker()
    work = world.call(tool_work_message, dead)
    if begun:
        assert start_call(world.store, work.lease)
    die(world, dead)
    (follows,) = take_over(world, {"calculator": idempotent})
    row = world.tool_call(tool_work_message)
    if begun and not idempotent:
        assert (row.state, row.outcome, row.observation) == ("done", "lost", unknown_outcome("calculator"))
        assert (follows.call, follows.step, world.hot(run_id).step) == (0, 2, 2)
    else:
        assert (row.state, row.attempt, row.deaths, row.started_at) == ("pending", 2, 1, None)
        assert world.call(follows).lease.attempt == 2
    assert not start_call(world.store, work.lease), "the dead one's effect may not begin any more"


def test_a_call_past_its_deadline_that_may_have_had_its_effect_says_that_its_outcome_is_unknown(
    world: World, stepped_clock: None
) -> None:
    _, work_message = world.start()
    (tool_work_message,) = world.act(work_message)
    work = world.call(tool_work_message)
    assert start_call(world.store, work.lease)
    CLOCK.moment = 1_000_061.0
    take_over(world)
    row = world.tool_call(tool_work_message)
    assert (row.outcome, row.observation) == ("timeout", unknown_outcome("calculator"))


def test_an_effect_does_not_begin_past_the_deadline_of_its_lease(world: World, stepped_clock: None) -> None:
    _, work_message = world.start()
    (tool_work_message,) = world.act(work_message)
    work = world.call(tool_work_message)
    CLOCK.moment = 1_000_060.0
    assert not start_call(world.store, work.lease)


def test_a_worker_that_dies_with_many_leases_gives_each_of_them_back(world: World) -> None:
    world.submit(30)
    work_messages = world.admit().work_messages
    dead = world.worker()
    for work_message in work_messages[:20]:
        world.think(work_message, dead)
    tools = [b for work_message in work_messages[20:] for b in world.act(work_message, calls=2)]
    for work_message in tools:
        world.call(work_message, dead)
    die(world, dead)
    again = take_over(world)
    assert len(again) == 20 + 20 and {b.attempt for b in again} == {2}
    assert all(claim_call(world.store, world.lease(b)) for b in again if b.call)
    assert all(claim_think(world.store, world.lease(b)) for b in again if not b.call)


def test_only_a_death_alone_on_the_quarantine_queue_poisons_a_run(world: World) -> None:
    run_id, work_message = world.start()
    queues: list[str] = []
    for _ in range(3):
        dead = world.worker()
        world.think(work_message, dead)
        die(world, dead)
        sent = take_over(world)
        queues += [one.queue for one in sent]
        work_message = sent[0] if sent else work_message
    assert queues == ["think", "quarantine.think"]
    run = world.run(run_id)
    assert (run.state, run.error_code) == ("failed", "poisoned")


def test_a_tool_call_that_kills_its_worker_alone_ends_the_run_and_closes_what_else_was_in_flight(world: World) -> None:
    run_id, work_message = world.start()
    poison, innocent = world.act(work_message, calls=2)
    other = world.call(innocent)
    for queue in ("tools.local", "quarantine.local", None):
        dead = world.worker()
        world.call(poison, dead)
        die(world, dead)
        sent = take_over(world, {"calculator": True})
        assert [b.queue for b in sent] == ([queue] if queue else [])
        poison = sent[0] if sent else poison
    assert world.run(run_id).error_code == "poisoned"
    assert world.attempt(other.lease).outcome == "stopped"
    assert world.observe(other.lease) is None


def test_the_parent_of_a_pool_child_that_died_finds_what_it_held(world: World) -> None:
    _, work_message = world.start()
    lease = world.think(work_message).lease
    found = attempt_lease(world.store, work_message.run_id, 1, 0, 1, world.worker_id)
    assert found is not None and found.token == lease.token
    decision = decide_think(hot_of(world.hot(work_message.run_id)), Answered("x"), RunConfig())
    assert apply_think(world.store, found, decision, SPENT) == Applied(ended=True)
    assert attempt_lease(world.store, work_message.run_id, 1, 0, 1, world.worker_id) is None
