"""What a store says when a connection breaks under it."""

from __future__ import annotations

import pytest
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

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
