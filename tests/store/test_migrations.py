"""The migrations lead to the tables that the code names."""

from __future__ import annotations

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from worker.store.session import Store
from worker.store.tables import metadata


def test_a_migrated_database_has_the_tables_and_columns_that_the_code_names(store: Store) -> None:
    with store.read() as tx:
        assert compare_metadata(MigrationContext.configure(tx), metadata) == []
