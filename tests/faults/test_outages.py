"""The database or Redis goes away, a worker freezes: no live worker counts as dead, and the work continues."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import select

from tests.engine.fleet import SLACK_S, THINK, Fleet
from tests.engine.questions import counted, mixed, sums
from tests.engine.wholeness import assert_money, assert_nothing_left_in_redis, assert_whole
from tests.faults.proxy import Proxy
from tests.services.redis import RedisServer
from worker.store.schema.tables import attempts, workers

pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_a_database_away_for_longer_than_the_heartbeat_limit_declares_nobody_dead(fleet: Fleet) -> None:
    fleet.practice.control(latency="uniform:0,0.1")
    with Proxy(fleet.database_url).serving() as proxy:
        fleet.database_url = proxy.url
        fleet.start(THINK)
        fleet.start(THINK)
        fleet.start(["tools.local", "tools.test"])
        batch = fleet.submit(mixed(60))
        fleet.wait_for_ended(batch, 10)
        _stay_away(fleet, proxy)
        assert fleet.finish(batch) == {"succeeded": 60}
    assert [row.state for row in fleet.rows(select(workers))] == ["up"] * 3
    assert fleet.rows(select(attempts).where(attempts.c.outcome == "lost")) == []
    assert_whole(fleet, batch)
    assert_money(fleet)


def test_a_redis_that_restarts_empty_or_is_cut_off_for_a_while_costs_no_run(
    fleet: Fleet, redis_server: RedisServer
) -> None:
    fleet.practice.control(latency="uniform:0,0.1")
    with Proxy(fleet.redis_url).serving() as proxy:
        fleet.redis_url = proxy.url
        fleet.start(slots=8)
        fleet.start(slots=8)
        batch = fleet.submit(mixed(90))
        fleet.wait_for_ended(batch, 15)
        redis_server.stop()
        redis_server.start()
        fleet.wait_for_ended(batch, 40)
        _stay_away(fleet, proxy)
        assert fleet.finish(batch, 90) == {"succeeded": 90}
        assert_nothing_left_in_redis(fleet)
    assert [row.state for row in fleet.rows(select(workers))] == ["up"] * 2
    assert_whole(fleet, batch)


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_a_pool_child_that_dies_while_the_database_is_away_is_reported_when_it_is_back(fleet: Fleet) -> None:
    with Proxy(fleet.database_url).serving() as proxy:
        fleet.database_url = proxy.url
        fleet.start(THINK)
        tools = fleet.start(["tools.slow"], pool="prefork", slots=1)
        fleet.submit(["Use doze(seconds=300)."])
        fleet.wait("the tool runs", lambda: len(fleet.in_flight(call=True)) == 1)
        (held,) = fleet.in_flight(call=True)
        with proxy.gone():
            for child in tools.children():
                child.kill()
            fleet.wait("its parent tries to tell", lambda: "report: the database is away" in tools.output())
        told = select(attempts).where(attempts.c.token == held.token, attempts.c.outcome == "lost")
        fleet.wait("it has told", lambda: len(fleet.rows(told)) == 1, 10)


def _stay_away(fleet: Fleet, proxy: Proxy) -> None:
    """Cuts for twice the time after which a worker that does not beat is missed."""
    with proxy.gone():
        since = time.monotonic()
        fleet.wait("it has been away for long enough", lambda: time.monotonic() - since > 2 * fleet.settings.takeover_s)


def test_a_frozen_worker_wakes_after_the_takeover_registers_anew_and_goes_on(fleet: Fleet) -> None:
    fleet.practice.control(latency="20")
    sleeper = fleet.start(slots=6)
    batch = fleet.submit(sums(3))
    fleet.wait("the model is asked", lambda: fleet.practice.stats()["in_flight"] == 3)
    fleet.practice.control(latency="0")
    fleet.freeze(sleeper)
    fleet.start(slots=6)
    dead = select(workers.c.id).where(workers.c.state == "dead")
    fleet.wait("it is taken for dead", lambda: len(fleet.rows(dead)) == 1, fleet.settings.takeover_s + SLACK_S)
    assert fleet.finish(batch) == {"succeeded": 3}
    sleeper.thaw()
    fleet.wait("it has registered anew", lambda: fleet.live_workers() == 2)
    fleet.workers[1].kill()
    later = fleet.submit(counted(5))
    assert fleet.finish(later) == {"succeeded": 5}, "the one that was frozen works again, alone"
    assert_whole(fleet, batch, later)
    assert_money(fleet)
    fenced = select(attempts.c.token).where(attempts.c.outcome.in_(["lost", "fenced"]))
    assert len(fleet.rows(fenced)) == 3, "what the frozen one held counts as lost, once"
