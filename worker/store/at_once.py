"""The usual applies as one statement each, for PostgreSQL: atomic by itself, and one round trip instead of six.

Each is a guarded write of the hot row, and writes that take place if it returned a row (data-modifying common table
expressions). What they write is what `worker.store.applies` writes one by one elsewhere: a test compares the two.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import CTE, JSON, Select, bindparam, column, exists, func, insert, select, true

from worker.core.states import Phase
from worker.store import writes
from worker.store.session import NOW
from worker.store.tables import active, tool_calls

MOVED = ("run_id", "klass", "phase", "step", "attempt", "quarantined")
"""What a move returns of the hot row: what the doorbells that follow depend on."""


def _then(first: CTE, columns: tuple[str, ...], *following: Any) -> Select[Any]:
    """One statement: these columns of the first write's row, once those that follow are done."""
    # No more of them: to describe a column in the result takes as long as to bind a parameter.
    chosen = select(*(first.c[name] for name in columns))
    return chosen.add_cte(*(write.cte(f"write_{n}") for n, write in enumerate(following)))


@lru_cache(maxsize=256)
def move(changed: tuple[str, ...], sums: tuple[str, ...], step: bool, calls: bool) -> Select[Any]:
    """Ends a model call's attempt under its token and moves its run on."""
    moved = writes.move_under_lease(changed, sums).cte("moved")
    following: list[Any] = [writes.close_attempt(moved)]
    if step:
        following.append(writes.step(moved))
    if calls:
        following.append(_new_calls(moved))
    return _then(moved, MOVED, *following)


@lru_cache(maxsize=2)
def end(step: bool) -> Select[Any]:
    """Ends a model call's attempt under its token, and its run."""
    gone = writes.LEAVE_UNDER_LEASE.cte("gone")
    steps = [writes.step(gone)] if step else []
    return _then(gone, ("run_id",), writes.close_attempt(gone), writes.end_run(gone), writes.ending(gone), *steps)


@lru_cache(maxsize=64)
def observe(changed: tuple[str, ...], changed_call: tuple[str, ...], sums: tuple[str, ...]) -> Select[Any]:
    """Ends a tool call and its attempt, if its run's hot row is still at the event that its claim saw.

    The event is what guards: whoever changes the hot row or one of its claimed calls counts it up, under the row's
    lock. The token alone would be looked up in this statement's snapshot, which may be older than that lock.
    """
    mine = (
        tool_calls.c.run_id == bindparam("run"),
        tool_calls.c.step == bindparam("at"),
        tool_calls.c.call == bindparam("nth"),
        tool_calls.c.token == bindparam("mine"),
    )
    unmoved = (active.c.step == bindparam("at"), active.c.phase == Phase.ACT.value, active.c.event == bindparam("seen"))
    moved = writes.move(changed, sums).where(*unmoved, exists().where(*mine)).cte("moved")
    return _then(moved, MOVED, writes.change_call(changed_call, True, moved), writes.close_attempt(moved))


def _new_calls(moved: CTE) -> Any:
    columns = [column(name, tool_calls.c[name].type) for name in writes.CALL_FIELDS]
    asked = func.json_to_recordset(bindparam("calls", type_=JSON())).table_valued(*columns)
    asked = asked.render_derived(name="asked", with_types=True)
    values: dict[str, Any] = {name: asked.c[name] for name in writes.CALL_FIELDS}
    values |= {"run_id": moved.c.run_id, "event": moved.c.event, "step": bindparam("at", type_=tool_calls.c.step.type)}
    values |= {"due_at": NOW, "sent_at": NOW}
    source = select(*values.values()).select_from(moved.join(asked, true()))
    return insert(tool_calls).from_select(list(values), source)
