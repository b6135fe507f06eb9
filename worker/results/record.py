"""The result record of a run, as JSONL, CSV and Parquet show it."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from worker.core.config import RunConfig
from worker.core.errors import ErrorCode
from worker.core.given import RENDERED_DEPTH, showable, unfit
from worker.core.records import JsonObject
from worker.core.states import ENDED, RunState
from worker.results.scoring import exact_match, f1

_LAST_MOMENT = 253_402_300_800.0
"""The year 10000, where dates end."""

RECORD_FIELDS = (
    "custom_id", "run_id", "question", "status", "answer", "partial_answer", "error", "agent", "model", "simulated",
    "steps", "usage", "cost_usd", "wasted", "attempts", "started_at", "finished_at", "metadata",
)  # fmt: skip


def moment(seconds: float | None) -> str | None:
    """A moment as ISO 8601 text in UTC, to the millisecond; None: there is none, or it is no moment."""
    if seconds is None:
        return None
    if not abs(seconds) < _LAST_MOMENT:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def usage(row: Any) -> dict[str, int]:
    """The tokens of anything that has sums."""
    return {name: int(getattr(row, name)) for name in ("prompt_tokens", "cached_tokens", "completion_tokens")}


def dollars(usd: float) -> float | None:
    """Dollars without the dust that sums of fractions leave; None for what is no sum."""
    return round(float(usd), 10) if math.isfinite(usd) else None


def cost(row: Any) -> float | None:
    """What was paid; None when a call's price is not known."""
    return None if row.unpriced else dollars(row.cost_usd)


def wasted(row: Any) -> dict[str, Any]:
    """What was paid for nothing: repeated, lost and fenced-out attempts."""
    price = None if row.unpriced and row.wasted_tokens else dollars(row.wasted_cost_usd)
    return {"tokens": int(row.wasted_tokens), "cost_usd": price}


def result_record(row: Any, config: RunConfig) -> JsonObject:
    """The record of one run. `row` has the columns of a run, its sums up to date, and `config` is what it runs with."""
    succeeded = row.state == RunState.SUCCEEDED
    failed = row.state == RunState.FAILED
    record = {
        "custom_id": row.custom_id,
        "run_id": row.id,
        "question": row.question,
        "status": row.state,
        "answer": row.answer if succeeded else None,
        "partial_answer": row.partial_answer,
        "error": {"code": row.error_code, "message": row.error_message} if failed else None,
        "agent": config.name or None,
        "model": config.model or None,
        "simulated": config.simulated,
        "steps": row.steps,
        "usage": usage(row),
        "cost_usd": cost(row),
        "wasted": wasted(row),
        "attempts": row.attempts,
        "started_at": moment(row.started_at),
        "finished_at": moment(row.finished_at),
        "metadata": showable(row.metadata),
    }
    if (reason := unfit(row.metadata, RENDERED_DEPTH)) is not None:
        record["error"] = {
            "code": ErrorCode.INTERNAL.value,
            "message": f"Its metadata is not shown whole: it {reason}.",
        }
    if row.expected is not None:
        record |= {"expected": row.expected, **_scores(row, succeeded)}
    return record


def error_record(row: Any, message: str) -> JsonObject:
    """Stands for the record of a row that cannot be shown."""
    record: JsonObject = dict.fromkeys(RECORD_FIELDS)
    named = {"custom_id": row.custom_id, "run_id": row.id, "status": row.state} if row is not None else {}
    nothing = {"usage": {}, "wasted": {}, "error": {"code": ErrorCode.INTERNAL.value, "message": message}}
    return record | named | nothing


def _scores(row: Any, succeeded: bool) -> JsonObject:
    if row.state not in ENDED:
        return {"exact_match": None, "f1": None}
    if not succeeded:
        return {"exact_match": False, "f1": 0.0}
    return {
        "exact_match": exact_match(row.answer, row.expected),
        "f1": round(f1(row.answer, row.expected), 4),
    }
