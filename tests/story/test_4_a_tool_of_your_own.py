"""Chapter 4. A tool is a typed function; its schema, checks and limits come from it."""

from __future__ import annotations

import pytest

from tools.base import BadArguments, ToolError, tool


@tool(group="shop", timeout_s=5, idempotent=True)
def stock(product: str, unit: str = "pieces") -> str:
    """Tells how much of a product is in stock.

    Args:
        product: The product's name.
        unit: What to count in.
    """
    if product != "bolt":
        raise ToolError(f"There is no product {product!r}. Products: bolt.")
    return f"120 {unit}"


def test_the_model_sees_its_schema() -> None:
    assert stock.parameters["required"] == ["product"]
    assert stock.parameters["properties"]["product"]["description"] == "The product's name."
    assert (stock.queue, stock.task_name) == ("tools.shop", "tools.stock")


def test_arguments_are_checked_before_anything_runs() -> None:
    with pytest.raises(BadArguments, match="product"):
        stock.validate({"prodct": "bolt"})


def test_what_it_returns_is_the_observation_and_what_it_raises_too() -> None:
    assert stock.call({"product": "bolt"}).observation == "120 pieces"
    with pytest.raises(ToolError, match="Products: bolt"):
        stock.call({"product": "nut"})
