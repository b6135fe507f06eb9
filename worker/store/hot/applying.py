"""The statements that end a piece of work, each written once for both databases.

Some take a `source`: the hot row returned by the preceding write when both are parts of one statement. Without a
source they take the same values as parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import CTE, Insert, Table, Update, bindparam, case, delete, insert, literal_column, null, select, update
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.dml import ReturningDelete, ReturningUpdate

from worker.core.moves import End, NewCall, Place, State, Tries
from worker.core.spending import Sums, Used
from worker.core.states import CallState, Outcome, Phase
from worker.store.hot.parameters import (
    STEP_VALUES,
    THIS_ATTEMPT,
    THIS_CALL,
    THIS_RUN,
    THIS_STEP,
    names_of,
    sums_after,
    usage_values,
    value,
    values_of,
)
from worker.store.schema.tables import active, attempts, endings, runs, steps, tool_calls
from worker.store.session import NOW

ONE: ColumnElement[int] = literal_column("1")
UNDER_LEASE = active.c.token == bindparam("key_token")


def _run(source: CTE | None) -> ColumnElement[Any]:
    return bindparam("key_run", type_=active.c.run_id.type) if source is None else source.c.run_id


def _event(source: CTE | None) -> ColumnElement[Any]:
    return bindparam("new_event", type_=active.c.event.type) if source is None else source.c.event


def _insert(table: Table, values: Mapping[str, Any], source: Any) -> Insert:
    if source is None:
        return insert(table).values(**values)
    return insert(table).from_select(list(values), select(*values.values()).select_from(source))


def _after(source: CTE | None, statement: Update, run_id: ColumnElement[str]) -> Update:
    """Makes an update conditional on the source's row. The key is also a parameter, so that its index is used."""
    return statement if source is None else statement.where(run_id == source.c.run_id)


# ---- the hot row ----


def _due(at: ColumnElement[float]) -> dict[str, Any]:
    """Returns the columns of work that has no worker and whose message is due at `at`."""
    return {"due_at": at, "sent_at": at, "token": null(), "worker_id": null(), "lease_until": null()}


_LATER = NOW + bindparam("due_in_s")


def _change(added: type, values: Mapping[str, Any]) -> ReturningUpdate[str, str, int]:
    """Changes this run's hot row, adds to its sums (those of `Used` or `Sums`), and increments its event number."""
    changing = update(active).where(THIS_RUN).values(**values, **sums_after(active, added), event=active.c.event + ONE)
    return changing.returning(active.c.run_id, active.c.klass, active.c.event)


_PARKED = value(active, "parked", "new_parked")

_MOVED: dict[str, Any] = {
    **values_of(active, "new", State),
    **_due(_LATER),
    "wait_reason": value(active, "wait_reason", "new_wait_reason"),
    "parked": _PARKED,
    "parked_target": value(active, "parked_target", "new_parked_target"),
    "parked_at": case((_PARKED.is_not(None), NOW), else_=null()),
}


def move(added: type) -> ReturningUpdate[str, str, int]:
    """Ends a model call. It alone decides whether the run is parked, since no run is parked during a model call."""
    return _change(added, _MOVED).where(UNDER_LEASE)


def next_step(added: type) -> ReturningUpdate[str, str, int]:
    """Ends a step's last tool call. If the run has been parked meanwhile, it stays parked."""
    return _change(added, {**values_of(active, "new", Place), **_due(NOW), "wait_reason": null()})


def count_call(added: type) -> ReturningUpdate[str, str, int]:
    """Ends a tool call's attempt when the step still has open calls."""
    return _change(added, {"pending": value(active, "pending", "new_pending")})


MOVE, NEXT_STEP, COUNT_CALL = move(Sums), next_step(Sums), count_call(Sums)


def leave(columns: Iterable[ColumnElement[Any]]) -> ReturningDelete[*tuple[Any, ...]]:
    """Deletes a hot row and returns these columns, with `event` as the number of the run's final event."""
    return delete(active).where(THIS_RUN).returning(*columns, (active.c.event + ONE).label("event"))


LEAVE = leave(column for column in active.c if column.name != "event")
LEAVE_UNDER_LEASE = LEAVE.where(UNDER_LEASE)

LOCK_ACTING = select(*active.c).where(*THIS_STEP, active.c.phase == Phase.ACT.value).with_for_update()

# ---- tool calls ----

CALL_UNDER_LEASE = select(*tool_calls.c).where(
    *THIS_CALL,
    tool_calls.c.token == bindparam("key_token"),
    # A finished call keeps its token, so only the state shows that an apply is a repeat.
    tool_calls.c.state == CallState.RUNNING.value,
)


def finish_call(source: CTE | None = None) -> Update:
    """Gives a tool call its observation. The token stays, so that a commit whose answer was lost can be read back."""
    values: dict[str, Any] = {
        "state": CallState.DONE.value,
        "observation": value(tool_calls, "observation", "new_observation"),
        "outcome": value(tool_calls, "outcome", "new_outcome"),
        "worker_id": null(),
        "lease_until": null(),
        "finished_at": NOW,
        "event": _event(source),
    }
    return _after(source, update(tool_calls).where(*THIS_CALL), tool_calls.c.run_id).values(**values)


FINISH_CALL = finish_call()

_QUEUE = value(tool_calls, "queue", "new_queue")

RETURN_CALL = (
    update(tool_calls)
    .where(*THIS_CALL)
    .values(
        **values_of(tool_calls, "new", Tries),
        **_due(_LATER),
        wait_reason=value(tool_calls, "wait_reason", "new_wait_reason"),
        state=CallState.PENDING.value,
        started_at=null(),
        queue=_QUEUE,
        # Progress in another queue says nothing about this one.
        claimed_sent_at=case((tool_calls.c.queue == _QUEUE, tool_calls.c.claimed_sent_at), else_=null()),
    )
)


def call_row(number: int, call: NewCall) -> dict[str, Any]:
    """Returns a new tool call's columns, without those that identify its run and step."""
    done = call.observation is not None
    return {
        "call": number, "tool": call.tool, "args": dict(call.args), "queue": call.queue, "call_id": call.call_id,
        "observation": call.observation, "held": call.held,
        "state": CallState.DONE.value if done else CallState.PENDING.value,
        "outcome": Outcome.ERROR.value if done else None,
    }  # fmt: skip


CALL_COLUMNS = tuple(call_row(1, NewCall("", {}, "")))


def new_calls(columns: Mapping[str, ColumnElement[Any]], run: CTE | None = None, source: Any = None) -> Insert:
    """Inserts a step's calls. `columns` are those of `call_row`; with a `run`, they come from `source`."""
    whose = {"run_id": _run(run), "step": value(tool_calls, "step", "key_step"), "event": _event(run)}
    said = {name: columns[name] for name in CALL_COLUMNS}
    return _insert(tool_calls, {**whose, **said, "due_at": NOW, "sent_at": NOW}, source)


NEW_CALL = new_calls({name: value(tool_calls, name, f"call_{name}") for name in CALL_COLUMNS})

# ---- the history ----


def step(source: CTE | None = None) -> Insert:
    """Inserts a step into the history."""
    whose = {"run_id": _run(source), "event": _event(source), "created_at": NOW}
    key = {"step": value(steps, "step", "key_step"), "token": value(steps, "token", "key_token")}
    return _insert(steps, {**whose, **key, **STEP_VALUES}, source)


def close_attempt(source: CTE | None = None) -> Update:
    """Ends this lease's attempt. With a `source` it is a usual one: not wasted, and without a reserved bound."""
    said = ("error", "outcome") if source is not None else ("error", "outcome", "wasted", "reserved_usd")
    values = {"reserved_usd": null()} | {name: value(attempts, name, f"spent_{name}") for name in said}
    closing = _after(source, update(attempts).where(THIS_ATTEMPT), attempts.c.run_id)
    return closing.values(**usage_values(attempts), **values, event=_event(source), ended_at=NOW)


def end_run(source: CTE | None = None) -> Update:
    """Updates the cold row of a run that ends."""
    ending = _after(source, update(runs).where(runs.c.id == bindparam("key_run")), runs.c.id)
    return ending.values(**_said(runs, *_END), **_final(runs, source), event=_event(source), finished_at=NOW)


def ending(source: CTE | None = None) -> Insert:
    """Inserts the ending that the admitter will settle."""
    whose = {"run_id": _run(source)}
    for name in WHOSE:
        whose[name] = value(endings, name, f"final_{name}") if source is None else source.c[name]
    return _insert(endings, {**_said(endings, *_ENDING), **whose, **_final(endings, source), "ended_at": NOW}, source)


def _final(table: Table, source: CTE | None) -> dict[str, Any]:
    """Returns the final sums of a run; with a `source`, that row's sums plus what a usual attempt adds."""
    if source is None:
        return values_of(table, "final", Sums)
    return {name: source.c[name] for name in names_of(Sums)} | sums_after(source, Used)


WHOSE = ("batch_id", "owner_id", "charged")
"""The columns that an ending copies from its run's hot row, besides the sums."""

_ENDING = ("state", "error_code", "steps")
_END = (*_ENDING, "error_message", "answer", "partial_answer")


def _said(table: Table, *names: str) -> dict[str, Any]:
    return {name: value(table, name, f"end_{name}") for name in names}


def end_of(end: End, taken: int) -> dict[str, Any]:
    """Returns the parameters that describe a run's end, except its sums; `taken` is the number of steps it took."""
    return {
        "end_state": end.state.value, "end_error_code": end.code, "end_steps": taken,
        "end_error_message": end.message, "end_answer": end.answer, "end_partial_answer": end.partial,
    }  # fmt: skip


STEP, CLOSE_ATTEMPT, END_RUN, ENDING = step(), close_attempt(), end_run(), ending()

FACTS = select((NOW - attempts.c.claimed_at).label("held_s"), attempts.c.reserved_usd).where(THIS_ATTEMPT)
"""Selects how long an attempt has been held, in seconds, and its reserved bound: for waste and unknown usage."""
