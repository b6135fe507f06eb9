"""The statements of the hot path, built once: building one costs more than the database needs to run it.

Some take a `source`: the row that the statement before them returned, where both are parts of one statement. Without
one they take what they need of that row as parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from sqlalchemy import CTE, Insert, Table, Update, bindparam, delete, insert, select, update
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.dml import ReturningDelete

from worker.core.states import CallState, Phase
from worker.store.claims import HOT_COLUMNS
from worker.store.session import NOW
from worker.store.tables import SUMS, active, attempts, endings, runs, steps, tool_calls

USAGE = ("prompt_tokens", "cached_tokens", "completion_tokens", "cost_usd")


def new(table: Table, name: str) -> ColumnElement[Any]:
    """A parameter for a column's new value; a plain column name is taken by SQLAlchemy itself."""
    return bindparam(f"{table.name}_{name}", type_=table.c[name].type)


def news(table: Table, values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of `new` for these values."""
    return {f"{table.name}_{name}": value for name, value in values.items()}


def added(values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters for what is added to sums."""
    return {f"add_{name}": value for name, value in values.items()}


def _set(table: Table, names: Iterable[str]) -> dict[str, Any]:
    return {name: new(table, name) for name in names}


def _sum(table: Any, name: str) -> ColumnElement[Any]:
    return table.c[name] + bindparam(f"add_{name}", type_=active.c[name].type)  # type: ignore[no-any-return]


def _insert(table: Table, values: Mapping[str, Any], source: Any = None) -> Insert:
    if source is None:
        return insert(table).values(**values)
    return insert(table).from_select(list(values), select(*values.values()).select_from(source))


def _after(source: CTE | None, statement: Update, run_id: ColumnElement[str]) -> Update:
    """Only if the source has a row. The row's key stands in the statement as well, so that its index is used."""
    return statement if source is None else statement.where(run_id == source.c.run_id)


@lru_cache(maxsize=256)
def move(changed: tuple[str, ...], sums: tuple[str, ...]) -> Update:
    """Changes a hot row, adds to its sums and counts its event.

    A new phase ends the lease and sets the due time `due_in` seconds from now.
    """
    values = _set(active, changed)
    values |= {name: _sum(active, name) for name in sums}
    if "phase" in changed:
        due = NOW + bindparam("due_in")
        values |= {"due_at": due, "sent_at": due, "token": None, "worker_id": None, "lease_until": None}
    if "parked" in changed:
        values["parked_at"] = NOW
    statement = update(active).where(active.c.run_id == bindparam("run")).values(**values, event=active.c.event + 1)
    return statement.returning(*HOT_COLUMNS, active.c.run_id, active.c.klass, active.c.event)


@lru_cache(maxsize=256)
def move_under_lease(changed: tuple[str, ...], sums: tuple[str, ...]) -> Update:
    """The same, only under the token `mine`."""
    return move(changed, sums).where(active.c.token == bindparam("mine"))


def change_call(changed: tuple[str, ...], done: bool, source: CTE | None = None) -> Update:
    """Changes a tool call and ends its lease. A finished one keeps its token, for a commit whose answer is lost."""
    due = NOW + bindparam("due_in")
    times: dict[str, Any] = {"due_at": due, "sent_at": due, "token": None}
    if done:
        times = {"finished_at": NOW, "event": new(tool_calls, "event") if source is None else source.c.event}
    values = {**_set(tool_calls, changed), **times, "worker_id": None, "lease_until": None}
    c = tool_calls.c
    key = (c.run_id == bindparam("run"), c.step == bindparam("at"), c.call == bindparam("nth"))
    return _after(source, update(tool_calls).where(*key), c.run_id).values(**values)


def step(source: CTE | None = None) -> Insert:
    """Writes a step into the history."""
    names = ("step", "kind", "reply", "kept", "thought", "finish_reason", "model", "message", "notice", "answer",
             "latency_s", "extras", "endpoint_id", *USAGE, "token")  # fmt: skip
    same = _set(steps, ("run_id", "event")) if source is None else {"run_id": source.c.run_id, "event": source.c.event}
    return _insert(steps, _set(steps, names) | same | {"created_at": NOW}, source)


def close_attempt(source: CTE | None = None) -> Update:
    """Ends the attempt with the token `mine`."""
    values = _set(attempts, (*USAGE, "error", "outcome", "wasted", "reserved_usd"))
    values["event"] = new(attempts, "event") if source is None else source.c.event
    statement = update(attempts).where(attempts.c.token == bindparam("mine"))
    return _after(source, statement, attempts.c.run_id).values(**values, ended_at=NOW)


def end_run(source: CTE | None = None) -> Update:
    """Fills the cold row of a run that ends. With a `source`, its sums are that row's and what is added to them."""
    values = _set(runs, ("state", "error_code", "error_message", "answer", "partial_answer", "steps"))
    if source is None:
        values |= _set(runs, ("event", *SUMS))
    else:
        values |= {name: _sum(source, name) for name in SUMS} | {"event": source.c.event}
    statement = update(runs).where(runs.c.id == bindparam("run"))
    return _after(source, statement, runs.c.id).values(**values, finished_at=NOW)


def ending(source: CTE | None = None) -> Insert:
    """Leaves what the admitter settles."""
    values = _set(endings, ("state", "error_code", "steps"))
    whose = ("run_id", "batch_id", "owner_id", "charged")
    if source is None:
        return _insert(endings, values | _set(endings, (*whose, *SUMS)) | {"ended_at": NOW})
    values |= {name: source.c[name] for name in whose} | {name: _sum(source, name) for name in SUMS}
    return _insert(endings, values | {"ended_at": NOW}, source)


CALL_FIELDS = ("call", "tool", "args", "queue", "call_id", "observation", "held", "state", "outcome")

STEP, CLOSE_ATTEMPT, END_RUN, ENDING = step(), close_attempt(), end_run(), ending()
CHANGE_CALL = lru_cache(maxsize=64)(change_call)

NEW_CALL = _insert(
    tool_calls, _set(tool_calls, ("run_id", "step", "event", *CALL_FIELDS)) | {"due_at": NOW, "sent_at": NOW}
)

LOCK_ACTING = (
    select(*active.c)
    .where(active.c.run_id == bindparam("run"), active.c.step == bindparam("at"), active.c.phase == Phase.ACT.value)
    .with_for_update()
)

CALL_UNDER_LEASE = select(*tool_calls.c).where(
    tool_calls.c.run_id == bindparam("run"),
    tool_calls.c.step == bindparam("at"),
    tool_calls.c.call == bindparam("nth"),
    tool_calls.c.token == bindparam("mine"),
    # A finished call keeps its token, so the state tells an apply that is repeated apart.
    tool_calls.c.state == CallState.RUNNING.value,
)


def _leave() -> ReturningDelete[*tuple[Any, ...]]:
    """Takes a hot row away; the `event` it returns is the next one, that of the end."""
    columns = [(column + 1).label("event") if column.name == "event" else column for column in active.c]
    return delete(active).where(active.c.run_id == bindparam("run")).returning(*columns)


LEAVE = _leave()
LEAVE_UNDER_LEASE = LEAVE.where(active.c.token == bindparam("mine"))
