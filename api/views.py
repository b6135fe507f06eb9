"""Turns rows into the JSON of the API's answers."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Any

from api.context import Context
from worker.core.given import showable
from worker.core.records import JsonObject
from worker.core.work_messages import WorkMessage
from worker.results.record import cost, error_record, moment, result_record, usage, wasted
from worker.store.queries.common import ENDED_STATES, error_counts, get_batch, requeued_sums
from worker.store.queries.fleet import serving
from worker.store.queries.waiting import why_batch
from worker.store.schema.tables import SUMS
from worker.store.session import AnyRow

log = logging.getLogger(__name__)


def batch_view(row: AnyRow) -> JsonObject:
    """Returns a batch as in lists."""
    by_state = {state: int(getattr(row, state)) for state in ENDED_STATES}
    ended = sum(by_state.values())
    rate, left = _pace(row, ended)
    counts = {"queued": max(0, row.total - ended - row.active), "active": row.active}
    return {
        "batch_id": row.id,
        "name": row.name,
        "klass": row.klass,
        "state": row.state,
        "paused_reason": row.paused_reason,
        "paused_by": row.paused_by,
        "weight": row.weight,
        "max_failures": _max_failures(row),
        "total": row.total,
        "counts": counts | by_state,
        "percent": round(100 * ended / row.total, 1) if row.total else 0.0,
        "steps": int(row.steps + row.active_steps),
        "usage": usage(row),
        "cost_usd": cost(row),
        "reserved_usd": money(row.reserved_usd),
        "budget_usd": row.budget_usd,
        "wasted": whole_waste(row),
        "attempts": int(row.attempts),
        "created_at": moment(row.created_at),
        "finished_at": moment(row.finished_at),
        "runs_per_s": rate,
        "seconds_left": left,
        "simulated": bool((row.options or {}).get("simulated")),
    }


def money(usd: float) -> float:
    """Returns dollars without the rounding noise of floating-point sums."""
    return round(max(0.0, float(usd)), 10) if math.isfinite(usd) else 0.0


def whole_waste(row: AnyRow) -> JsonObject:
    """Returns the tokens, cost, seconds and number of wasted attempts."""
    return wasted(row) | {"seconds": round(float(row.wasted_s), 3), "attempts": int(row.wasted_attempts)}


def _max_failures(row: AnyRow) -> int | str | None:
    if row.max_failures_percent is not None:
        return f"{row.max_failures_percent:g}%"
    return None if row.max_failures is None else int(row.max_failures)


def _pace(row: AnyRow, ended: int) -> tuple[float | None, float | None]:
    """Returns the runs ended per second since the submission, and the seconds left at that pace."""
    passed = (row.finished_at or row.now) - row.created_at
    if not ended or passed <= 0:
        return None, None
    rate = ended / passed
    open_and_moving = row.state == "open" and row.paused_reason is None
    return round(rate, 3), round((row.total - ended) / rate, 1) if open_and_moving else None


def one_batch(here: Context, batch_id: str) -> AnyRow | None:
    """Returns a batch's row, including the usage of runs that wait to be retried; None if there is no such batch."""
    row = get_batch(here.store, batch_id)
    if row is None or not (row.options or {}).get("retried"):
        return row
    more = requeued_sums(here.store, batch_id)
    return Summed(row, {name: getattr(row, name) + more[name] for name in ("steps", *SUMS)})  # type: ignore[return-value]


def batch_details(here: Context, row: AnyRow) -> JsonObject:
    """Returns a batch in detail."""
    scores = here.scores.of(row) if (row.options or {}).get("scored") else None
    return batch_progress(here, row) | {"scores": scores}


def batch_progress(here: Context, row: AnyRow) -> JsonObject:
    """Returns a batch in detail but without scores, which would read every run."""
    view = batch_view(row)
    view["errors"] = error_counts(here.store, row.id) if row.failed else {}
    view["waiting"] = [
        {"reason": reason.sentence, "runs": reason.runs} for reason in why_batch(here.store, row, serving(here.store))
    ]
    view["options"] = row.options or {}
    return view


def dialect_of(here: Context, row: AnyRow) -> str | None:
    """Returns the dialect of a run; None if its configuration is no longer stored."""
    try:
        return here.configuration(row.config_hash).dialect
    except LookupError:
        return None


def record_of(here: Context, row: AnyRow) -> JsonObject:
    """Returns the result record of a run, or one that says why there is none, so that one bad row hides no others."""
    try:
        return result_record(row, here.configuration(row.config_hash))
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        log.exception("Run %s cannot be shown", row.id)
        return error_record(row, f"This run cannot be shown: {type(error).__name__}: {str(error)[:200]}.")


def run_view(here: Context, row: AnyRow) -> JsonObject:
    """Returns a run as in lists: its result record, waste, batch, and whether it is paused."""
    record = record_of(here, row)
    more = {"wasted": whole_waste(row), "reserved_usd": money(row.reserved_usd)}
    return record | more | {"batch_id": row.batch_id, "paused": bool(row.paused)}


def trace_view(steps: Sequence[tuple[AnyRow, Sequence[AnyRow]]]) -> list[JsonObject]:
    """Returns the steps of a run with their calls."""
    return [step_view(step) | {"calls": [call_view(call) for call in calls]} for step, calls in steps]


def step_view(row: AnyRow) -> JsonObject:
    return {
        "step": row.step,
        "kind": row.kind,
        "thought": row.thought,
        "reply": row.reply,
        "notice": row.notice,
        "answer": row.answer,
        "model": row.model,
        "finish_reason": row.finish_reason,
        "usage": usage(row),
        "cost_usd": row.cost_usd,
        "latency_s": row.latency_s,
        "created_at": moment(row.created_at),
    }


def call_view(row: AnyRow) -> JsonObject:
    return {
        "call": row.call,
        "tool": row.tool,
        "args": showable(row.args),
        "state": row.state,
        "outcome": row.outcome,
        "observation": row.observation,
        "queue": row.queue,
        "attempt": row.attempt,
        "started_at": moment(row.started_at),
        "finished_at": moment(row.finished_at),
        "task_id": WorkMessage(row.run_id, row.step, row.call, row.attempt, row.queue).task_id,
    }


def attempt_view(row: AnyRow) -> JsonObject:
    return {
        "step": row.step,
        "call": row.call,
        "attempt": row.attempt,
        "worker_id": row.worker_id,
        "queue": row.queue,
        "claimed_at": moment(row.claimed_at),
        "ended_at": moment(row.ended_at),
        "outcome": row.outcome,
        "error": row.error,
        "usage": usage(row),
        "cost_usd": row.cost_usd,
        "reserved_usd": row.reserved_usd,
        "wasted": bool(row.wasted),
        "task_id": WorkMessage(row.run_id, row.step, row.call, row.attempt, row.queue or "").task_id,
    }


class Summed:
    """A row with some of its values replaced."""

    def __init__(self, row: Any, values: dict[str, Any]) -> None:
        self._row = row
        self._values = values

    def __getattr__(self, name: str) -> Any:
        return self._values[name] if name in self._values else getattr(self._row, name)
