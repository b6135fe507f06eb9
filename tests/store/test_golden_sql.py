"""The SQL of the hot path is in readable files, exactly as it is sent."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from psycopg import _queries
from sqlalchemy.sql.elements import CompilerElement

from tests.services.counting import Counted
from tests.store.conftest import RECORD, SPENT, World, world_on
from tests.store.golden_sql import COMMAND, DIALECTS, MODULES, golden, path, statements
from worker.core.config import RunConfig
from worker.core.machine import decide_think
from worker.core.moves import Acted, Answered, GivenBack, NewCall
from worker.core.spending import Spent
from worker.core.states import Outcome
from worker.core.work_messages import WorkMessage
from worker.store.hot.writes import apply_think, start_call
from worker.store.session import Store

CALL = NewCall("calculator", {"expression": "1+1"}, "tools.local")


@pytest.fixture
def world(store_each_way: Store) -> World:
    return world_on(store_each_way)


@pytest.mark.parametrize("database", MODULES)
def test_the_files_say_what_is_sent(database: str) -> None:
    assert path(database).read_text() == golden(database), f"the SQL has changed; to write it anew: {COMMAND}"


def _sent(statement: CompilerElement, database: str) -> str:
    return " ".join(str(statement.compile(dialect=DIALECTS[database])).split())


def _gives_back(world: World, message: WorkMessage) -> None:
    work = world.think(message)
    waits = decide_think(work.hot, GivenBack(Outcome.DEFERRED, 1.0, "a rate limit"), RunConfig())
    assert apply_think(world.store, work.lease, waits, Spent(Outcome.DEFERRED)) is not None


def _acts_and_answers(world: World, message: WorkMessage) -> None:
    work = world.think(message)
    acts = decide_think(work.hot, Acted((CALL, CALL), "I add."), RunConfig())
    applied = apply_think(world.store, work.lease, acts, SPENT, RECORD)
    assert applied is not None
    first, second = [world.call(message) for message in applied.work_messages]
    assert start_call(world.store, first.lease) and world.observe(first.lease)
    given_back = world.observe(second.lease, GivenBack(Outcome.HANDED_BACK))
    assert given_back is not None and [message.attempt for message in given_back.work_messages] == [2]


def _ends(world: World, message: WorkMessage) -> None:
    work = world.think(message)
    answers = decide_think(work.hot, Answered("Two."), RunConfig())
    assert apply_think(world.store, work.lease, answers, SPENT, RECORD) is not None


@pytest.mark.parametrize("happens", [_gives_back, _acts_and_answers, _ends])
def test_nothing_else_is_sent(world: World, happens: Callable[[World, WorkMessage], None]) -> None:
    database = "postgres" if world.store.postgres else "sqlite"
    known = {_sent(statement, database) for _, statement in statements(database)}
    _, message = world.start()
    with Counted(world.store.engine) as counted:
        happens(world, message)
    assert counted.statements
    assert [sent for sent in counted.statements if sent not in known] == []


@pytest.mark.parametrize("name", [name for name, _ in statements("postgres") if name.startswith("postgres.")])
def test_single_statements_are_short_enough_for_psycopg_to_remember_how_they_are_read(name: str) -> None:
    """Longer ones, or such with more parameters, it parses each time anew, which takes as long as to send them."""
    compiled = dict(statements("postgres"))[name].compile(dialect=DIALECTS["postgres"])
    assert len(str(compiled)) <= _queries.MAX_CACHED_STATEMENT_LENGTH
    assert len(compiled.params) <= _queries.MAX_CACHED_STATEMENT_PARAMS
