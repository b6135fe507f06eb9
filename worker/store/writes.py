"""The statements of the hot path, built once: building one costs more than the database needs to run it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from sqlalchemy import BindParameter, Insert, Table, Update, bindparam, delete, insert, select, update

from worker.core.states import CallState, Phase
from worker.store.claims import HOT_COLUMNS
from worker.store.session import NOW
from worker.store.tables import SUMS, active, attempts, endings, runs, steps, tool_calls

USAGE = ("prompt_tokens", "cached_tokens", "completion_tokens", "cost_usd")


def new(table: Table, name: str) -> BindParameter[Any]:
    """A parameter for a column's new value; a plain column name is taken by SQLAlchemy itself."""
    return bindparam(f"new_{name}", type_=table.c[name].type)


def news(values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of `new` for these values."""
    return {f"new_{name}": value for name, value in values.items()}


def _set(table: Table, names: Iterable[str]) -> dict[str, Any]:
    return {name: new(table, name) for name in names}


@lru_cache(maxsize=256)
def move(changed: tuple[str, ...], added: tuple[str, ...], guarded: bool) -> Update:
    """Changes a hot row, adds to its sums and counts its event. `guarded`: only under the token `mine`.

    A new phase ends the lease and sets the due time `due_in` seconds from now.
    """
    values = _set(active, changed)
    values |= {name: active.c[name] + bindparam(f"add_{name}", type_=active.c[name].type) for name in added}
    if "phase" in changed:
        due = NOW + bindparam("due_in")
        values |= {"due_at": due, "sent_at": due, "token": None, "worker_id": None, "lease_until": None}
    if "parked" in changed:
        values["parked_at"] = NOW
    values |= {"applied_token": new(active, "applied_token"), "event": active.c.event + 1}
    statement = update(active).where(active.c.run_id == bindparam("run")).values(**values)
    if guarded:
        statement = statement.where(active.c.token == bindparam("mine"))
    return statement.returning(*HOT_COLUMNS, active.c.run_id, active.c.klass, active.c.event)


@lru_cache(maxsize=64)
def change_call(changed: tuple[str, ...], done: bool) -> Update:
    """Changes a tool call and ends its lease. A finished one keeps its token, for a commit whose answer is lost."""
    due = NOW + bindparam("due_in")
    times: dict[str, Any] = {"due_at": due, "sent_at": due, "token": None}
    if done:
        times = {"finished_at": NOW, "event": new(tool_calls, "event")}
    values = {**_set(tool_calls, changed), **times, "worker_id": None, "lease_until": None}
    return (
        update(tool_calls)
        .where(
            tool_calls.c.run_id == bindparam("run"),
            tool_calls.c.step == bindparam("at"),
            tool_calls.c.call == bindparam("nth"),
        )
        .values(**values)
    )


def _insert(table: Table, names: Iterable[str], **fixed: Any) -> Insert:
    return insert(table).values(**_set(table, names), **fixed)


STEP = _insert(
    steps,
    ("run_id", "step", "kind", "reply", "kept", "thought", "finish_reason", "model", "message", "notice", "answer",
     "latency_s", *USAGE, "token", "event"),
    created_at=NOW,
)  # fmt: skip

NEW_CALL = _insert(
    tool_calls,
    ("run_id", "step", "call", "tool", "args", "queue", "call_id", "observation", "event", "held", "state", "outcome"),
    due_at=NOW,
    sent_at=NOW,
)

CLOSE_ATTEMPT = (
    update(attempts)
    .where(attempts.c.token == bindparam("mine"))
    .values(**_set(attempts, (*USAGE, "error", "outcome", "wasted", "reserved_usd", "event")), ended_at=NOW)
)

END_RUN = (
    update(runs)
    .where(runs.c.id == bindparam("run"))
    .values(
        **_set(runs, ("state", "error_code", "error_message", "answer", "partial_answer", "steps", "event", *SUMS)),
        finished_at=NOW,
    )
)

ENDING = _insert(
    endings, ("run_id", "batch_id", "owner_id", "state", "error_code", "steps", "charged", *SUMS), ended_at=NOW
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

LEAVE_UNDER_LEASE = (
    delete(active).where(active.c.run_id == bindparam("run"), active.c.token == bindparam("mine")).returning(*active.c)
)

LEAVE = delete(active).where(active.c.run_id == bindparam("run"))
