"""PostgreSQL is stopped, cut off, locked or out of connections: a worker that gets SIGTERM still ends in time."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psycopg
import pytest
from sqlalchemy import select

from tests.engine.fleet import THINK, Fleet
from tests.engine.processes import lives
from tests.faults.proxy import Proxy
from tests.services.postgres import PostgresServer
from worker.fleet.drain import EXIT_MARGIN_S, SEND_AT_END_S, SIGN_OFF_S
from worker.store.schema.tables import attempts

pytestmark = [pytest.mark.timeout(300), pytest.mark.parametrize("database_url", ["postgres"], indirect=True)]


def ends_within_s(fleet: Fleet) -> float:
    return fleet.settings.drain_grace_s + 2 * EXIT_MARGIN_S + 2 * SIGN_OFF_S + 2 * SEND_AT_END_S


@contextmanager
def locked(fleet: Fleet, _proxy: Proxy, _server: PostgresServer) -> Iterator[None]:
    """Somebody holds the tables that every worker writes."""
    with psycopg.connect(fleet.store.engine.url.render_as_string(hide_password=False)) as connection:
        connection.execute("LOCK TABLE workers, active, tool_calls, attempts IN ACCESS EXCLUSIVE MODE")
        yield


@contextmanager
def out_of_connections(fleet: Fleet, proxy: Proxy, _server: PostgresServer) -> Iterator[None]:
    """The connections that workers had are gone, and others have taken all there are."""
    url = fleet.store.engine.url.render_as_string(hide_password=False)
    proxy.cut()
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(psycopg.connect(url))
            except psycopg.OperationalError:
                break
        proxy.join()
        yield


@contextmanager
def cut_off(_fleet: Fleet, proxy: Proxy, _server: PostgresServer) -> Iterator[None]:
    with proxy.gone():
        yield


@contextmanager
def stopped(_fleet: Fleet, _proxy: Proxy, server: PostgresServer) -> Iterator[None]:
    server.stop()
    try:
        yield
    finally:
        server.start()


@pytest.mark.parametrize("trouble", [locked, out_of_connections, cut_off, stopped])
def test_sigterm_ends_every_worker_in_its_time_and_its_tools_with_it(
    fleet: Fleet, postgres_server: PostgresServer, trouble: object
) -> None:
    direct = fleet.database_url
    with Proxy(direct).serving() as proxy:
        fleet.database_url = proxy.url
        leaving = [fleet.start(THINK, slots=4), fleet.start(["tools.deadly"], pool="prefork", slots=1)]
        batch = fleet.submit(["Use linger(seconds=300)."])
        fleet.wait("the tool runs", lambda: len(fleet.in_flight(call=True)) == 1, 60)
        children = [child for worker in leaving for child in worker.children()]
        with trouble(fleet, proxy, postgres_server):  # type: ignore[operator]
            for worker in leaving:
                worker.signal(signal.SIGTERM)
            fleet.wait("all have left", lambda: not any(worker.alive for worker in leaving), ends_within_s(fleet))
            fleet.wait("their children are gone", lambda: not any(lives(child) for child in children), 2)
    fleet.database_url = direct
    fleet.store.engine.dispose()  # what this test itself had open may be gone with the server
    fleet.start((*THINK, "tools.local"))
    assert fleet.ended(batch) == 0
    taken_over = select(attempts).where(attempts.c.call > 0, attempts.c.ended_at.is_not(None))
    fleet.wait("the call was taken over", lambda: fleet.rows(taken_over), 30)
