"""On PostgreSQL: one statement writes what several would, to the last column of the last row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import Executable, select

from tests.services.postgres import PostgresServer
from tests.store import conftest
from tests.store.conftest import RECORD, HoldableStore, World, holdable
from worker.core.config import RunConfig
from worker.core.errors import ErrorCode
from worker.core.machine import decide_think
from worker.core.moves import (
    Acted,
    Answered,
    CallFinished,
    GivenBack,
    ModelFailed,
    NewCall,
    Parking,
    Rejected,
    Unreadable,
)
from worker.core.records import Usage
from worker.core.spending import Spent
from worker.core.states import Outcome, Parked
from worker.store.admission import submit
from worker.store.hot.interface import HotWrites, StepRecord
from worker.store.hot.portable import PORTABLE
from worker.store.hot.postgres import POSTGRES
from worker.store.hot.writes import apply_think
from worker.store.recovery.liveness import WorkerInfo, register
from worker.store.schema.tables import metadata
from worker.store.session import CLOCK, AnyRow

AWKWARD = 'quote " backslash \\ newline \n tab \t snow ☃ null-like \\u0000 {"a": [1, null]}'
TEXTS = NewCall("search", {"query": AWKWARD, "n": 3, "deep": {"list": [1, 2.5, None, True]}}, "tools.web", "call_1")
REFUSED = NewCall("nothing", {}, "tools.local", observation=f"There is no such tool. {AWKWARD}")
ASKED = NewCall("ask_person", {"question": "May I?"}, "tools.person", held="answer")
FREE = Spent("ok")
PAID = Spent("ok", usage=Usage(100, 10, 20), cost_usd=0.25, billed=True)


class Counting(HoldableStore):
    """Counts what went as one statement."""

    def once(self, statement: Executable, values: Mapping[str, Any]) -> AnyRow | None:
        row = super().once(statement, values)
        counted[0] += row is not None
        return row


counted = [0]


def _think(world: World, work_message: Any, event: Any, spent: Spent = PAID, record: StepRecord | None = RECORD) -> Any:
    work = world.think(work_message)
    return apply_think(world.store, work.lease, decide_think(work.hot, event, RunConfig()), spent, record)


def _asks_and_answers(world: World) -> None:
    _, work_message = world.start()
    (tool_work_message,) = _think(world, work_message, Acted((TEXTS,), AWKWARD)).work_messages
    (after,) = world.observe(world.call(tool_work_message).lease, CallFinished(AWKWARD)).work_messages  # type: ignore[union-attr]
    assert _think(world, after, Answered(AWKWARD)).ended


def _asks_for_several(world: World) -> None:
    _, work_message = world.start()
    calls = _think(world, work_message, Acted((TEXTS, REFUSED, ASKED, TEXTS), "So.", looping=True)).work_messages
    assert [b.call for b in calls] == [1, 4]
    for work in [world.call(b) for b in calls]:
        world.observe(work.lease, CallFinished("No.", Outcome.ERROR))


def _is_refused_at_once(world: World) -> None:
    _, work_message = world.start()
    (after,) = _think(world, work_message, Acted((REFUSED,), "So.")).work_messages
    (again,) = _think(
        world, after, Unreadable("Hm."), record=StepRecord("malformed", "a", "b", "", None, "m")
    ).work_messages
    assert _think(world, again, Rejected(ErrorCode.CONTENT_FILTER, "No."), FREE, None).ended


def _waits_and_parks(world: World) -> None:
    _, work_message = world.start()
    (later,) = _think(
        world, work_message, ModelFailed("It broke.", 3.0, "It broke."), Spent("error", "It broke."), None
    ).work_messages
    assert CLOCK.moment is not None
    CLOCK.moment += 5
    assert (
        _think(
            world, later, GivenBack(Outcome.DEFERRED, reason="paused", park=Parking(Parked.MODEL, "x")), FREE, None
        ).work_messages
        == ()
    )


def _brings_structures(world: World) -> None:
    _, work_message = world.start()
    record = StepRecord(
        "actions", "", "", AWKWARD, "stop", "m", {"content": AWKWARD, "tool_calls": []}, AWKWARD, "x", 0.5
    )
    assert _think(world, work_message, Acted((TEXTS,), "So."), Spent("ok", usage=Usage(5, 0, 0), billed=True), record)


@pytest.mark.usefixtures("stepped_clock")
@pytest.mark.parametrize(
    "happens", [_asks_and_answers, _asks_for_several, _is_refused_at_once, _waits_and_parks, _brings_structures]
)
def test_one_statement_writes_what_several_would(
    postgres_server: PostgresServer, postgres_template: str, happens: Callable[[World], None]
) -> None:
    found = []
    for hot in (POSTGRES, PORTABLE):
        counted[0] = 0
        found.append(_left(postgres_server.create_database(postgres_template), hot, happens))
        assert bool(counted[0]) is (hot is POSTGRES)
    assert found[0] == found[1]
    assert len(found[0]["attempts"]) > 0


def _left(url: str, hot: HotWrites, happens: Callable[[World], None]) -> dict[str, list[str]]:
    """All rows of all tables, once it has happened, with ids and tokens that are the same each time."""
    CLOCK.moment = 1_000_000.0
    serial = iter(range(1, 1_000))
    opened = holdable(url)
    world = World(Counting(opened.engine, opened._writer, hot), "")
    with (
        patch.object(submit, "new_id", lambda prefix: f"{prefix}_{next(serial)}"),
        patch.object(conftest, "new_token", lambda: f"token_{next(serial)}"),
    ):
        world.worker_id = register(world.store, WorkerInfo("tests", ["think", "tools.local"], "threads", 8))
        happens(world)
    with world.store.read() as tx:
        rows = {name: tx.execute(select(table)).all() for name, table in metadata.tables.items()}
    world.store.dispose()
    return {name: sorted(repr(row).replace(world.worker_id, "it") for row in found) for name, found in rows.items()}
