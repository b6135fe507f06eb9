"""A hot column has one definition: a field, from which the table and the statements are made."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from sqlalchemy import MetaData, Table, update
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.sql.dml import UpdateBase

from worker.core.moves import Hot, Place, State, Tries
from worker.core.spending import Sums
from worker.store.hot.applying import MOVE, NEXT_STEP, RETURN_CALL
from worker.store.hot.claiming import CLAIM_THINK
from worker.store.hot.parameters import names_of, values_of
from worker.store.schema.tables import active, batches, columns_of, endings, runs


@dataclass(frozen=True)
class Longer(State):
    mood: str | None = None
    wishes: int = 3


def test_a_field_that_is_added_is_a_column_which_is_written() -> None:
    table = Table("longer", MetaData(), *columns_of(Longer))
    assert [str(table.c.mood.type), table.c.mood.nullable] == ["TEXT", True]
    assert [str(table.c.wishes.type), table.c.wishes.nullable] == ["BIGINT", False]
    changing = update(table).values(values_of(table, "new", Longer)).compile(dialect=SQLiteDialect_pysqlite())
    assert {"new_mood", "new_wishes"} <= set(changing.params)


def test_claims_read_all_that_decisions_rest_on() -> None:
    returned = {column.name for column in CLAIM_THINK.exported_columns}
    assert set(names_of(Hot)) <= returned & {column.name for column in active.c}


@pytest.mark.parametrize(
    ("statement", "record", "prefix"),
    [(MOVE, State, "new"), (MOVE, Sums, "used"), (NEXT_STEP, Place, "new"), (RETURN_CALL, Tries, "new")],
)
def test_moves_write_all_that_decisions_change(statement: UpdateBase, record: type, prefix: str) -> None:
    written = statement.compile().params
    assert {f"{prefix}_{name}" for name in names_of(record)} <= set(written)


def test_what_attempts_add_up_to_is_kept_of_hot_rows_runs_batches_and_endings() -> None:
    for table in (active, runs, batches, endings):
        assert set(names_of(Sums)) <= {column.name for column in table.c}
