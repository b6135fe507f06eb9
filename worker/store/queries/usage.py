"""The daily usage report: calls, tokens, money, and how much of it was wasted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, and_, case, cast, func, select

from worker.core.states import Outcome
from worker.store.schema.tables import attempts
from worker.store.session import NOW, AnyRow, Store

DAY_S = 86_400


def usage_by_day(store: Store, days: int) -> Sequence[AnyRow]:
    """Returns one row for each of the last `days` days (UTC) that had any attempt, latest first.

    An attempt belongs to the day of its claim. `day` counts days since 1970; `unpriced` counts model calls without a
    known cost or bound.
    """
    day = _day(store, attempts.c.claimed_at).label("day")
    first = (_day(store, NOW) - (days - 1)) * DAY_S
    query = select(day, *_SUMS).where(attempts.c.claimed_at >= first).group_by(day).order_by(day.desc())
    with store.read() as tx:
        return tx.execute(query).all()


def _day(store: Store, moment: ColumnElement[float]) -> ColumnElement[int]:
    days = moment / DAY_S
    # A cast rounds on PostgreSQL, and SQLite may lack floor; times are positive.
    return cast(func.floor(days) if store.postgres else days, BigInteger)


def _sum(what: Any, *which: ColumnElement[bool]) -> ColumnElement[Any]:
    return func.coalesce(func.sum(case((and_(*which), what), else_=0) if which else what), 0)


_MODEL = attempts.c.call == 0
_MADE = attempts.c.outcome.is_distinct_from(Outcome.DEFERRED.value)
_TOKENS = attempts.c.prompt_tokens + attempts.c.completion_tokens
_LASTED = func.coalesce(attempts.c.ended_at, attempts.c.claimed_at) - attempts.c.claimed_at
_UNKNOWN = and_(attempts.c.ended_at.is_not(None), attempts.c.cost_usd.is_(None))
_SUMS = (
    _sum(1, _MODEL, _MADE).label("model_calls"),
    _sum(1, ~_MODEL, _MADE).label("tool_calls"),
    *(_sum(attempts.c[name]).label(name) for name in ("prompt_tokens", "cached_tokens", "completion_tokens")),
    _sum(attempts.c.cost_usd).label("cost_usd"),
    _sum(1, attempts.c.cost_usd.is_not(None)).label("priced"),
    _sum(1, _MODEL, _MADE, _UNKNOWN, attempts.c.reserved_usd.is_(None)).label("unpriced"),
    _sum(attempts.c.reserved_usd, attempts.c.ended_at.is_not(None)).label("reserved_usd"),
    _sum(1, attempts.c.wasted).label("wasted_attempts"),
    _sum(_TOKENS, attempts.c.wasted).label("wasted_tokens"),
    _sum(attempts.c.cost_usd, attempts.c.wasted).label("wasted_cost_usd"),
    _sum(_LASTED, attempts.c.wasted).label("wasted_s"),
    _sum(attempts.c.reserved_usd, attempts.c.wasted).label("wasted_reserved_usd"),
)
