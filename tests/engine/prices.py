"""A price for the practice model, and what it would have billed according to its own ledger."""

from __future__ import annotations

from sqlalchemy import select

from tests.engine.fleet import Fleet
from worker.store.schema.tables import batches

USD_A_TOKEN = 1e-4
PRICES = '["practice"]\nprompt = 100.0\ncompletion = 100.0\n'
ROUNDING_USD = 1e-6


def price(fleet: Fleet) -> None:
    """Workers that start from now on know what the practice model costs."""
    file = fleet.directory / "prices.toml"
    file.write_text(PRICES)
    fleet.env["STEPMILL_PRICES_FILE"] = str(file)


def served_usd(fleet: Fleet) -> float:
    """What the practice model would bill for all that it answered."""
    entries = fleet.practice.ledger()
    return USD_A_TOKEN * sum((e["prompt_tokens"] or 0) + (e["completion_tokens"] or 0) for e in entries)


def assert_billed(fleet: Fleet, batch_id: str) -> None:
    """Known cost is no more than the bill, and that no more than what calls of unknown usage add. One batch, priced."""
    (batch,) = fleet.rows(select(batches).where(batches.c.id == batch_id))
    bill_usd = served_usd(fleet)
    assert batch.cost_usd <= bill_usd + ROUNDING_USD, "more is known than was served"
    assert bill_usd <= batch.cost_usd + batch.reserved_usd + ROUNDING_USD, "something was served that nobody reserved"
