"""How a run ends: its cold row is filled from its hot one, and the admitter finds its ending to settle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, update

from worker.core.moves import End
from worker.core.states import Outcome
from worker.store import writes
from worker.store.session import NOW, AnyRow
from worker.store.tables import SUMS, attempts, endings, runs
from worker.store.writes import news


def end_run(tx: Connection, hot: AnyRow, end: End, added: Mapping[str, Any], event: int, steps: int) -> None:
    """Writes the end of a run whose hot row this transaction has deleted.

    Counters of batch and owner are not touched here: they would make every ending wait for the same row. The ending is
    left in `endings`, and the admitter settles many at once.
    """
    sums = {name: getattr(hot, name) + added.get(name, 0) for name in SUMS}
    whose = {"run_id": hot.run_id, "batch_id": hot.batch_id, "owner_id": hot.owner_id, "charged": hot.charged}
    values = ended(end, steps) | news(runs, {"event": event, **sums}) | news(endings, {**whose, **sums})
    tx.execute(writes.END_RUN, {**values, "run": hot.run_id})
    tx.execute(writes.ENDING, values)


def ended(end: End, steps: int) -> dict[str, Any]:
    """What a run's row and its ending say of its end, beside its sums."""
    same = {"state": end.state.value, "error_code": end.code, "steps": steps}
    said = {"error_message": end.message, "answer": end.answer, "partial_answer": end.partial}
    return news(runs, same | said) | news(endings, same)


def stop_attempts(tx: Connection, run_ids: Sequence[str]) -> dict[str, float]:
    """Closes what runs that end still had in flight, so that no open attempt outlives its run.

    Returns, by run, what the model calls among them may cost at most: their usage is not known, and perhaps never.
    """
    open_ones = (attempts.c.run_id.in_(run_ids), attempts.c.ended_at.is_(None))
    stopped = update(attempts).where(*open_ones).values(outcome=Outcome.STOPPED.value, ended_at=NOW)
    reserved: dict[str, float] = defaultdict(float)
    for row in tx.execute(stopped.returning(attempts.c.run_id, attempts.c.reserved_usd)).all():
        reserved[row.run_id] += row.reserved_usd or 0.0
    return reserved
