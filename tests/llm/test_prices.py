"""What a call costs: known where the price is, unknown elsewhere, and never more than was reserved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.core.errors import UserError
from worker.core.records import Usage
from worker.llm.prices import PriceTable, upper_bound


def test_cached_tokens_are_part_of_the_prompt_and_cheaper() -> None:
    usage = Usage(prompt_tokens=1_000_000, cached_tokens=400_000, completion_tokens=500_000)
    assert PriceTable.load().cost_usd("gpt-4.1", usage) == pytest.approx(0.6 * 2.00 + 0.4 * 0.50 + 0.5 * 8.00)


def test_a_snapshot_costs_what_its_base_name_costs() -> None:
    prices = PriceTable.load()
    assert prices.price("gpt-4o-mini-2024-07-18") == prices.price("gpt-4o-mini") is not None


def test_an_unknown_price_or_usage_is_none_and_never_zero() -> None:
    prices = PriceTable.load()
    assert prices.cost_usd("my-own-model", Usage(10, 0, 10)) is None
    assert prices.cost_usd("gpt-4o", None) is None
    assert prices.upper_bound_usd("my-own-model", 100, 100) is None


def test_the_users_file_adds_and_overrides(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text('["my/model:7b"]\nprompt = 1\ncompletion = 2\n["gpt-4o"]\nprompt = 0\ncompletion = 0\ncached = 0\n')
    prices = PriceTable.load(file)
    assert prices.cost_usd("my/model:7b", Usage(1_000_000, 500_000, 1_000_000)) == pytest.approx(3.0)
    assert prices.cost_usd("gpt-4o", Usage(10, 0, 10)) == 0, "a price of nothing that somebody wrote is known"
    assert prices.price("gpt-4.1") is not None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[gpt-9.1]\nprompt = 1\ncompletion = 1\n", "'gpt-9' in .* needs prompt and completion"),
        ('["m"]\nprompt = 1\n', "'m' in .* needs prompt and completion"),
        ('["m"]\nprompt = 1\ncompletion = 1\noutput = 1\n', "needs prompt and completion"),
        ('["m"]\nprompt = "1"\ncompletion = 1\n', "prompt is '1', not a price"),
        ('["m"]\nprompt = -1\ncompletion = 1\n', "prompt is -1, not a price"),
        ('["m"]\nprompt = nan\ncompletion = 1\n', "prompt is nan, not a price"),
        ("not toml", "not valid TOML"),
    ],
)
def test_a_wrong_price_file_is_told_with_the_place(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(text)
    with pytest.raises(UserError, match=told):
        PriceTable.load(file)


def test_a_missing_price_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file"):
        PriceTable.load(tmp_path / "none.toml")


@given(st.text(max_size=300), st.integers(0, 500))
def test_what_was_reserved_is_never_less_than_what_a_call_can_use(text: str, completion: int) -> None:
    body = json.dumps([{"role": "user", "content": text}], ensure_ascii=False).encode()
    bound = upper_bound(len(body), 500)
    assert bound.prompt_tokens >= len(text.encode())
    table = PriceTable.load()
    spent = table.cost_usd("gpt-5", Usage(len(text.encode()), 0, completion))
    reserved = table.upper_bound_usd("gpt-5", len(body), 500)
    assert spent is not None
    assert reserved is not None
    assert spent <= reserved
