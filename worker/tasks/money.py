"""What a model call may cost at most, and whether its run may spend that."""

from __future__ import annotations

from worker.core.budget import may_call
from worker.core.errors import UserError
from worker.core.moves import Hot
from worker.llm.endpoint import ModelRequest
from worker.llm.prices import PriceTable


def bound_usd(prices: PriceTable, request: ModelRequest, hot: Hot) -> float | None:
    """The upper bound of a call; None: its price is not known, which only a run without a budget may ignore."""
    if prices.price(request.model) is not None:
        return prices.upper_bound_usd(request.model, request.size_bytes, request.most_output_tokens)
    if hot.allotment_usd is not None:
        message = f"The price of {request.model} is not known to this worker, and the run has a budget."
        raise UserError(message, "Name the same price file here as for the API: STEPMILL_PRICES_FILE.")
    return None


def fits(hot: Hot, bound: float) -> bool:
    """Whether a call of this bound stays within what the run was allotted."""
    return may_call(hot.allotment_usd, hot.cost_usd + hot.reserved_usd, bound)
