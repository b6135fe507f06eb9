"""How a run ends: its cold row is filled from its hot row, and an ending is left for the admitter to settle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import Connection, update

from worker.core.moves import End
from worker.core.spending import Sums
from worker.core.states import Outcome
from worker.store.hot.applying import END_RUN, ENDING, end_of
from worker.store.schema.tables import SUMS, attempts
from worker.store.session import NOW, AnyRow


def end_run(tx: Connection, hot: AnyRow, end: End, added: Sums, event: int, steps: int) -> None:
    """Writes the end of a run whose hot row this transaction has deleted.

    The counters of batch and owner are not updated here, because every ending would wait for the same row. The
    admitter settles the rows of `endings` in bulk.
    """
    sums = {f"final_{name}": getattr(hot, name) + getattr(added, name) for name in SUMS}
    whose = {"key_run": hot.run_id, "final_batch_id": hot.batch_id, "final_owner_id": hot.owner_id}
    values = end_of(end, steps) | sums | whose | {"final_charged": hot.charged, "new_event": event}
    tx.execute(END_RUN, values)
    tx.execute(ENDING, values)


def stop_attempts(tx: Connection, run_ids: Sequence[str]) -> dict[str, float]:
    """Closes the open attempts of runs that end, so that no attempt outlives its run.

    Returns the upper bound in US dollars of the model calls among them, by run: their usage is not known yet.
    """
    open_ones = (attempts.c.run_id.in_(run_ids), attempts.c.ended_at.is_(None))
    stopped = update(attempts).where(*open_ones).values(outcome=Outcome.STOPPED.value, ended_at=NOW)
    reserved: dict[str, float] = defaultdict(float)
    for row in tx.execute(stopped.returning(attempts.c.run_id, attempts.c.reserved_usd)).all():
        reserved[row.run_id] += row.reserved_usd or 0.0
    return reserved
