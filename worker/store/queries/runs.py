"""Reading runs: pages in input order or newest first, and single runs with their steps, calls and attempts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, func, or_, select

from worker.core.states import ENDED, RunState
from worker.store.schema.tables import SUMS, active, attempts, batches, runs, steps, tool_calls
from worker.store.session import NOW, AnyRow, Store

PAGE = 1_000
"""Runs that an export reads per short transaction."""
PAGE_CHARS = 1_000_000
"""Characters of run texts after which such a page ends."""
_FETCHED = 100
"""The most rows the driver fetches at a time; it starts with fewer, since rows may be large."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Selects runs. `only` holds states, error codes, or `ended`."""

    batch_id: str | None = None
    only: tuple[str, ...] = ()
    error_code: str | None = None
    custom_id: str | None = None


_HOT = ("phase", "step", "attempt", "wait_reason", "due_at", "sent_at", "queue", "token", "worker_id", "lease_until",
        "parked", "parked_target", "deadline_at", "pending")  # fmt: skip


@cache
def _runs() -> Select[*tuple[Any, ...]]:
    """Selects runs with their hot rows, if any, whose sums and event numbers take precedence."""
    kept = [column for column in runs.c if column.name not in (*SUMS, "event", "steps", "paused")]
    sums = [func.coalesce(active.c[name], runs.c[name]).label(name) for name in (*SUMS, "event")]
    hot = [active.c[name] for name in _HOT]
    done = func.coalesce(active.c.step - 1, runs.c.steps).label("steps")
    paused = or_(runs.c.paused, func.coalesce(active.c.paused, False)).label("paused")
    return select(*kept, *sums, *hot, done, paused).outerjoin(active, active.c.run_id == runs.c.id)


def get_run(store: Store, run_id: str) -> AnyRow | None:
    """Returns one run with its hot row, its batch's flags and the current time, or None."""
    batch = (batches.c.klass, batches.c.sealed, batches.c.state.label("batch_state"), batches.c.watermark,
             batches.c.paused_reason, batches.c.paused_by)  # fmt: skip
    query = _runs().join(batches, batches.c.id == runs.c.batch_id).add_columns(*batch, NOW.label("now"))
    with store.read() as tx:
        return tx.execute(query.where(runs.c.id == run_id)).one_or_none()


def page_of_batch(store: Store, which: Filter, after_seq: int, limit: int) -> Sequence[AnyRow]:
    """Returns runs of one batch after `after_seq`, in input order."""
    conditions = _conditions(which)
    if not conditions:
        # Numbers have no gaps, so a page is a range: no query plan can turn it into a scan of the whole batch.
        conditions = [runs.c.seq <= after_seq + limit]
    query = _runs().where(runs.c.batch_id == which.batch_id, runs.c.seq > after_seq, *conditions)
    with store.read() as tx:
        return tx.execute(query.order_by(runs.c.seq).limit(limit)).all()


def page_of_all(store: Store, which: Filter, before: str | None, limit: int) -> Sequence[AnyRow]:
    """Returns runs of all batches older than the id `before`, newest first."""
    query = _runs().where(*_conditions(which))
    if before is not None:
        query = query.where(runs.c.id < before)
    with store.read() as tx:
        return tx.execute(query.order_by(runs.c.id.desc()).limit(limit)).all()


def all_of_batch(
    store: Store, which: Filter, page: int = PAGE, most_chars: int = PAGE_CHARS
) -> Iterator[Sequence[AnyRow]]:
    """Yields all runs of a batch, range by range, each in its own transaction, so that no snapshot is held open.

    A page ends early once its texts reach `most_chars`, so that a slow reader holds few large answers.
    """
    with store.read() as tx:
        last = tx.execute(select(func.max(runs.c.seq)).where(runs.c.batch_id == which.batch_id)).scalar() or 0
    first = 1
    while first <= last:
        beyond = min(first + page, last + 1)
        found, whole = _range(store, which, first, beyond, most_chars)
        if found:
            yield found
        first = beyond if whole else found[-1].seq + 1


def _range(store: Store, which: Filter, first: int, beyond: int, most_chars: int) -> tuple[list[AnyRow], bool]:
    """Returns runs of a range, and whether they are all of it. The driver fetches a few rows at a time."""
    some = runs.c.seq.between(first, beyond - 1)
    query = _runs().where(runs.c.batch_id == which.batch_id, some, *_conditions(which)).order_by(runs.c.seq)
    found: list[AnyRow] = []
    chars = 0
    few_at_a_time = query.execution_options(stream_results=True, max_row_buffer=_FETCHED)
    with store.walk() as tx, tx.execute(few_at_a_time) as rows:
        for row in rows:
            if found and chars >= most_chars:
                return found, False
            found.append(row)
            chars += sum(len(text) for text in (row.question, row.answer, row.partial_answer) if text)
            chars += len(repr(row.metadata)) if row.metadata else 0
    return found, True


def _conditions(which: Filter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if which.only:
        states = {state.value for state in RunState if state.value in which.only}
        if "ended" in which.only:
            states |= {state.value for state in ENDED}
        codes = set(which.only) - states - {"ended"}
        found.append(or_(runs.c.state.in_(states), runs.c.error_code.in_(codes)))
    if which.error_code is not None:
        found.append(runs.c.error_code == which.error_code)
    if which.custom_id is not None:
        found.append(runs.c.custom_id == which.custom_id)
    return found


def steps_of(store: Store, run_ids: Sequence[str]) -> dict[str, list[tuple[AnyRow, list[AnyRow]]]]:
    """Returns the steps of each run in order, each with its tool calls."""
    with store.read() as tx:
        found = tx.execute(
            select(steps).where(steps.c.run_id.in_(run_ids)).order_by(steps.c.run_id, steps.c.step)
        ).all()
        calls = tx.execute(
            select(tool_calls).where(tool_calls.c.run_id.in_(run_ids)).order_by(tool_calls.c.step, tool_calls.c.call)
        ).all()
    by_step: dict[tuple[str, int], list[AnyRow]] = defaultdict(list)
    for call in calls:
        by_step[call.run_id, call.step].append(call)
    by_run: dict[str, list[tuple[AnyRow, list[AnyRow]]]] = defaultdict(list)
    for row in found:
        by_run[row.run_id].append((row, by_step[row.run_id, row.step]))
    return by_run


def attempts_of(store: Store, run_id: str) -> Sequence[AnyRow]:
    """Returns every attempt of a run, in the order of their claims."""
    query = select(attempts).where(attempts.c.run_id == run_id).order_by(attempts.c.claimed_at, attempts.c.call)
    with store.read() as tx:
        return tx.execute(query).all()
