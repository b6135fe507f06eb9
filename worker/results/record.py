"""The result record of a run, as exported to JSONL, CSV and Parquet."""

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
"""The year 10000, which `datetime` cannot represent."""

RECORD_FIELDS = (
    "custom_id", "run_id", "question", "status", "answer", "partial_answer", "error", "agent", "model", "simulated",
    "steps", "usage", "cost_usd", "wasted", "attempts", "started_at", "finished_at", "metadata",
)  # fmt: skip


def moment(seconds: float | None) -> str | None:
    """Returns a timestamp as ISO 8601 text in UTC, in milliseconds; None if there is none or it is out of range."""
    if seconds is None:
        return None
    if not abs(seconds) < _LAST_MOMENT:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def usage(row: Any) -> dict[str, int]:
    """Returns the token counts of a row that has sums."""
    return {name: int(getattr(row, name)) for name in ("prompt_tokens", "cached_tokens", "completion_tokens")}


def dollars(usd: float) -> float | None:
    """Returns US dollars rounded to remove floating-point noise; None for NaN and infinity."""
    return round(float(usd), 10) if math.isfinite(usd) else None


def cost(row: Any) -> float | None:
    """Returns the cost in US dollars; None if the price of a call is unknown."""
    return None if row.unpriced else dollars(row.cost_usd)


def wasted(row: Any) -> dict[str, Any]:
    """Returns the tokens and cost of wasted attempts: repeated, lost and fenced out."""
    price = None if row.unpriced and row.wasted_tokens else dollars(row.wasted_cost_usd)
    return {"tokens": int(row.wasted_tokens), "cost_usd": price}


def result_record(row: Any, config: RunConfig) -> JsonObject:
    """Returns the record of one run. `row` has a run's columns with current sums; `config` is its configuration."""
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
            "message": f"Its metadata is not shown in full: it {reason}.",
        }
    if row.expected is not None:
        record |= {"expected": row.expected, **_scores(row, succeeded)}
    return record


def error_record(row: Any, message: str) -> JsonObject:
    """Returns a record in place of a row that cannot be shown."""
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
