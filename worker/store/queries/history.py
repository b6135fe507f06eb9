"""A run's question and its steps so far, from which prompts are built."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import and_, bindparam, case, func, select

from worker.core.finish_reasons import Ending, ending_of
from worker.core.provider_extras import of_call, of_message
from worker.core.records import JsonObject, Observed, Turn
from worker.store.schema.tables import runs, steps, tool_calls
from worker.store.session import AnyRow, Store


@dataclass(frozen=True, slots=True)
class History:
    """A run's question and its finished steps."""

    question: str
    turns: tuple[Turn, ...]


def history(store: Store, run_id: str, before_step: int) -> History:
    """Reads the question and the steps before `before_step` in one statement. Raises `LookupError` if no such run."""
    with store.read() as tx:
        rows = tx.execute(_HISTORY, {"run": run_id, "before": before_step}).all()
    if not rows:
        raise LookupError(f"There is no run {run_id}.")
    by_step: dict[int, list[AnyRow]] = {}
    for row in rows:
        if row.step is not None:
            by_step.setdefault(row.step, []).append(row)
    return History(rows[0].question, tuple(_turn(found) for found in by_step.values()))


# The question and the message extras can be long, so they are only in the first row of the run or step.
_HISTORY = (
    select(
        case((steps.c.step == 1, runs.c.question), (steps.c.step.is_(None), runs.c.question)).label("question"),
        steps.c.step, steps.c.reply, steps.c.kept, steps.c.thought, steps.c.notice,
        steps.c.finish_reason, steps.c.endpoint_id,
        case((func.coalesce(tool_calls.c.call, 1) == 1, steps.c.extras)).label("extras"),
        tool_calls.c.call, tool_calls.c.tool, tool_calls.c.args, tool_calls.c.call_id, tool_calls.c.observation,
    )
    .select_from(runs)
    .join(steps, and_(steps.c.run_id == runs.c.id, steps.c.step < bindparam("before")), isouter=True)
    .join(tool_calls, and_(tool_calls.c.run_id == steps.c.run_id, tool_calls.c.step == steps.c.step), isouter=True)
    .where(runs.c.id == bindparam("run"))
    .order_by(steps.c.step, tool_calls.c.call)
)  # fmt: skip


def _turn(rows: list[AnyRow]) -> Turn:
    first = rows[0]
    extras = first.extras
    calls = tuple(
        Observed(
            row.tool, dict(row.args or JsonObject()), row.observation or "", row.call_id, of_call(extras, row.call)
        )
        for row in rows
        if row.call is not None
    )
    kept = first.kept if first.kept is not None else first.reply
    return Turn(
        first.thought or "",
        calls,
        kept or "",
        first.notice,
        extra=of_message(extras),
        endpoint_id=first.endpoint_id,
        cut=ending_of(first.finish_reason) == Ending.LENGTH,
    )
