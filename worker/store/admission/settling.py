"""Settling: adds endings to their batch's counters, corrects virtual times, and finishes batches."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, case, delete, insert, or_, select, update

from worker.core.fairness import MIN_WEIGHT, estimate, settle
from worker.core.states import BatchState, RunState
from worker.store.errors import NOT_OF_A_ROW, short
from worker.store.schema.tables import SUMS, batches, endings, owners
from worker.store.session import NOW, AnyRow

log = logging.getLogger(__name__)

CHUNK = 2_000
"""How many endings one transaction settles, so that it stays short."""
ASIDE_S = 600.0
"""Seconds after which an ending that could not be settled is retried: the cause may have been fixed."""
MOST = 1e15
"""The largest value any of a run's sums can have, whatever its unit; larger ones are corrupt."""


def settle_endings(tx: Connection) -> int:
    """Settles endings and returns how many. Needs the admitters' lock.

    An ending that cannot be settled is set aside with the reason and retried after `ASIDE_S`; it does not block others.
    """
    due = or_(endings.c.aside_until.is_(None), endings.c.aside_until < NOW)
    some = select(endings.c.run_id).where(due).limit(CHUNK)
    gone = tx.execute(delete(endings).where(endings.c.run_id.in_(some)).returning(*endings.c)).all()
    return len(gone) - _settle_or_set_aside(tx, gone) if gone else 0


def _settle_or_set_aside(tx: Connection, rows: Sequence[AnyRow]) -> int:
    """Settles all, bisecting on errors until the faulty rows are found; returns how many were set aside."""
    try:
        with tx.begin_nested():
            _settle(tx, rows)
        return 0
    except NOT_OF_A_ROW:
        raise
    except Exception as error:
        if len(rows) > 1:
            half = len(rows) // 2
            return _settle_or_set_aside(tx, rows[:half]) + _settle_or_set_aside(tx, rows[half:])
        reason = short(error)
        log.error("The ending of run %s cannot be settled and is set aside: %s", rows[0].run_id, reason)
        aside = {**rows[0]._mapping, "aside_until": NOW + ASIDE_S, "aside_reason": reason}
        tx.execute(insert(endings).values(aside))
        return 1


def _settle(tx: Connection, gone: Sequence[AnyRow]) -> None:
    by_batch: dict[str, list[AnyRow]] = defaultdict(list)
    for row in gone:
        _check(row)
        by_batch[row.batch_id].append(row)
    query = select(batches.c.id, batches.c.weight, batches.c.steps_per_run, batches.c.owner_id)
    known = tx.execute(query.where(batches.c.id.in_(list(by_batch)))).all()
    if known:  # the batch may have been discarded since
        tx.execute(_COUNT, [_sums(row, by_batch[row.id]) for row in sorted(known, key=lambda r: r.id)])
    _charge_owners(tx, gone)
    pause_where_too_many_failed(tx, list(by_batch))
    close_finished(tx, list(by_batch))


def _check(row: AnyRow) -> None:
    """Raises `ValueError` for a number that would corrupt the sums of its batch and owner."""
    for name in ("steps", "charged", *SUMS):
        value = getattr(row, name)
        if not abs(value) <= MOST:
            raise ValueError(f"its {name} is {value}")


def _sums(batch: AnyRow, ended: Sequence[AnyRow]) -> dict[str, Any]:
    states = [row.state for row in ended]
    steps, charged = sum(row.steps for row in ended), sum(row.charged for row in ended)
    moved = [row for row in ended if row.charged > 0]  # runs cancelled in the queue say nothing about run lengths
    mean = max(steps / len(moved), 1.0) if moved else batch.steps_per_run
    return {
        "key": batch.id,
        "expected": estimate(batch.steps_per_run, len(moved), mean) if moved else batch.steps_per_run,
        "owed": settle(charged, steps, batch.weight),
        "d_steps": steps,
        **{f"d_{s.value}": states.count(s.value) for s in (RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED)},
        # Runs cancelled while queued for a retry bring what they used before.
        "d_carried_usd": -sum(row.cost_usd + row.reserved_usd for row in ended if row.charged == 0),
        **{f"d_{name}": sum(getattr(row, name) for row in ended) for name in SUMS},
    }


_COUNTERS = ("steps", "succeeded", "failed", "cancelled", "carried_usd", *SUMS)
_COUNT = (
    update(batches)
    .where(batches.c.id == bindparam("key"))
    .values(
        vtime=batches.c.vtime + bindparam("owed"),
        steps_per_run=bindparam("expected"),
        **{name: batches.c[name] + bindparam(f"d_{name}") for name in _COUNTERS},
    )
)


def _charge_owners(tx: Connection, ended: Sequence[AnyRow]) -> None:
    owed: dict[str, float] = defaultdict(float)
    for row in ended:
        owed[row.owner_id] += row.steps - row.charged
    weight = case((owners.c.weight > MIN_WEIGHT, owners.c.weight), else_=MIN_WEIGHT)
    charging = update(owners).where(owners.c.id == bindparam("key"))
    statement = charging.values(vtime=owners.c.vtime + bindparam("owed") / weight)
    tx.execute(statement, [{"key": owner, "owed": steps} for owner, steps in sorted(owed.items())])


def pause_where_too_many_failed(tx: Connection, ids: list[str]) -> None:
    """Pauses batches in which more runs failed than `--max-failures` allows."""
    ended = batches.c.succeeded + batches.c.failed + batches.c.cancelled
    percent_of = case((batches.c.total > 20, batches.c.total), else_=20)
    too_many = (batches.c.failed > batches.c.max_failures) | (
        batches.c.failed * 100.0 > batches.c.max_failures_percent * percent_of
    )
    tx.execute(
        update(batches)
        .where(batches.c.id.in_(ids), batches.c.paused_reason.is_(None), ended < batches.c.total, too_many)
        .values(paused_reason="failures", paused_by="stepmill")
    )


def close_finished(tx: Connection, ids: list[str]) -> None:
    """Finishes batches all of whose runs have ended."""
    ended = batches.c.succeeded + batches.c.failed + batches.c.cancelled
    state = case((batches.c.state == BatchState.OPEN.value, BatchState.DONE.value), else_=batches.c.state)
    tx.execute(
        update(batches)
        .where(batches.c.id.in_(ids), batches.c.sealed, ended >= batches.c.total, batches.c.finished_at.is_(None))
        .values(state=state, finished_at=NOW)
    )
