"""The upper bound of a model call's cost, from the request as it is sent."""

from __future__ import annotations

import pytest

from worker.core.errors import UserError
from worker.core.moves import Hot
from worker.llm.endpoint import EndpointSettings, ModelRequest
from worker.llm.prices import Price, PriceTable
from worker.tasks.money import bound_usd, fits

PRICES = PriceTable({"dear": Price(prompt=1.0, cached=0.5, completion=10.0)})


def request(model: str = "dear", content: str = "What is 1 + 1?", **settings: object) -> ModelRequest:
    endpoint = EndpointSettings(model, max_output_tokens=100, **settings)  # type: ignore[arg-type]
    return endpoint.request([{"role": "user", "content": content}], extra={"tools": [{"name": "calculator"}]})


def test_every_byte_of_messages_and_tools_counts_and_the_whole_output_limit() -> None:
    one = request(content="€" * 50)
    assert one.size_bytes >= 150 + len('{"name":"calculator"}')
    assert bound_usd(PRICES, one, Hot("think", 1)) == pytest.approx((one.size_bytes * 1 + 100 * 10) / 1e6)


def test_half_a_surrogate_pair_is_counted_and_not_an_error() -> None:
    assert request(content="\ud83d").size_bytes > 0


@pytest.mark.parametrize(
    ("extra_body", "tokens"),
    [({}, 100), ({"max_tokens": 700}, 700), ({"max_completion_tokens": 50}, 100), ({"n": 3}, 300), ({"n": "x"}, 100)],
)
def test_what_the_user_adds_to_the_body_counts_where_it_allows_more(extra_body: dict[str, object], tokens: int) -> None:
    assert request(extra_body=extra_body).most_output_tokens == tokens


def test_without_a_price_only_a_run_without_a_budget_may_call() -> None:
    assert bound_usd(PRICES, request("free"), Hot("think", 1)) is None
    with pytest.raises(UserError, match="price of free is not known to this worker") as refused:
        bound_usd(PRICES, request("free"), Hot("think", 1, allotment_usd=1.0))
    assert "STEPMILL_PRICES_FILE" in refused.value.hint


def test_cost_and_what_is_kept_for_unknown_usage_both_count() -> None:
    hot = Hot("think", 2, cost_usd=0.4, reserved_usd=0.3, allotment_usd=1.0)
    assert fits(hot, 0.3) and not fits(hot, 0.31)
