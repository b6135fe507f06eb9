"""What a store reports when its connection breaks."""

from __future__ import annotations

import pytest
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from tests.services.postgres import PostgresServer
from worker.store.opening import open_store
from worker.store.session import Store


def cut_off(store: Store) -> None:
    with store.read() as tx:
        tx.execute(select(1))
        tx.invalidate()
        raise OperationalError("SELECT 1", {}, Exception("cut"))


def test_a_read_whose_connection_breaks_raises_the_databases_own_error_so_that_it_is_repeated(store: Store) -> None:
    with pytest.raises(OperationalError, match="cut"):
        cut_off(store)
    with store.read() as tx:
        assert tx.execute(select(1)).scalar() == 1


def test_after_a_restart_of_the_server_a_tested_connection_answers_at_once(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database()
    store = open_store(url, tested=True)
    with store.read() as tx:
        tx.execute(select(1))
    postgres_server.stop()
    postgres_server.start()
    with store.read() as tx:
        assert tx.execute(select(1)).scalar() == 1
    with store.write() as tx:
        assert tx.execute(select(1)).scalar() == 1
    store.dispose()
    postgres_server.drop_database(url)
