"""The upper bound of a model call's cost, and whether its run may spend it."""

from __future__ import annotations

from worker.core.budget import may_call
from worker.core.errors import UserError
from worker.core.moves import Hot
from worker.llm.endpoint import ModelRequest
from worker.llm.prices import PriceTable


def bound_usd(prices: PriceTable, request: ModelRequest, hot: Hot) -> float | None:
    """Returns a call's upper bound in US dollars; None if its price is unknown and the run has no budget.

    Raises `UserError` if the price is unknown and the run has a budget.
    """
    if prices.price(request.model) is not None:
        return prices.upper_bound_usd(request.model, request.size_bytes, request.most_output_tokens)
    if hot.allotment_usd is not None:
        message = f"The price of {request.model} is not known to this worker, and the run has a budget."
        raise UserError(message, "Name the same price file here as for the API: STEPMILL_PRICES_FILE.")
    return None


def fits(hot: Hot, bound: float) -> bool:
    """Returns whether a call with this bound fits the run's allotment."""
    return may_call(hot.allotment_usd, hot.cost_usd + hot.reserved_usd, bound)
