"""Daily usage: calls, tokens, money, and how much of it was wasted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query

from api.context import Here
from api.schema import answers
from api.shapes import Page
from api.shapes_inventory import Day
from api.views import money
from worker.core.records import JsonObject
from worker.results.record import usage
from worker.store.queries.usage import DAY_S, usage_by_day
from worker.store.session import AnyRow

router = APIRouter(prefix="/api", tags=["look"])


@router.get("/usage", **answers("usage_by_day", Page[Day]))
def by_day(here: Here, days: Annotated[int, Query(ge=1, le=366)] = 7) -> JsonObject:
    """Lists the last days (UTC) with any attempt, latest first."""
    return {"items": [_day(row) for row in usage_by_day(here.store, days)], "next": None}


def _day(row: AnyRow) -> JsonObject:
    """Returns one day. A cost is null if unknown; if it is unknown for some calls only, they are counted apart."""
    known = row.priced or not row.unpriced
    return {
        "day": datetime.fromtimestamp(row.day * DAY_S, UTC).date().isoformat(),
        "model_calls": int(row.model_calls),
        "tool_calls": int(row.tool_calls),
        "usage": usage(row),
        "cost_usd": money(row.cost_usd) if known else None,
        "unpriced_calls": int(row.unpriced),
        "reserved_usd": money(row.reserved_usd),
        "wasted": {
            "attempts": int(row.wasted_attempts),
            "seconds": round(float(row.wasted_s), 3),
            "tokens": int(row.wasted_tokens),
            "cost_usd": money(row.wasted_cost_usd) if known else None,
            "reserved_usd": money(row.wasted_reserved_usd),
        },
    }
