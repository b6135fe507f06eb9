"""Prices of tokens: a small built-in table, extended by the user's file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worker.core.errors import UserError
from worker.core.given import unknown_name
from worker.core.records import Usage

SHIPPED_FILE = Path(__file__).with_name("prices.toml")
TOKENS_PER_PRICE = 1_000_000
MOST_USD = 1_000_000.0
"""The highest price accepted."""
_NAMES = ("prompt", "cached", "completion")
_SNAPSHOT = re.compile(r"-\d{4}-?\d{2}-?\d{2}$")


@dataclass(frozen=True, slots=True)
class Price:
    """Prices in USD per million tokens. `cached` is for the part of the prompt that the provider had cached."""

    prompt: float
    cached: float
    completion: float


class PriceTable:
    """Prices by model name."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self._prices = dict(prices)

    @classmethod
    def load(cls, user_file: Path | None = None) -> PriceTable:
        """Loads the built-in table with the user's entries on top. UserError says what is wrong with the user's."""
        prices = _read(SHIPPED_FILE)
        return cls(prices if user_file is None else {**prices, **_read(user_file)})

    def price(self, model: str) -> Price | None:
        """Returns None if unknown. A dated snapshot has its base name's price, unless it is listed itself."""
        return self._prices.get(model) or self._prices.get(_SNAPSHOT.sub("", model))

    def cost_usd(self, model: str, usage: Usage | None) -> float | None:
        """Returns None if the price or the usage is unknown, never 0."""
        price = self.price(model)
        if price is None or usage is None:
            return None
        fresh = usage.prompt_tokens - usage.cached_tokens
        total = fresh * price.prompt + usage.cached_tokens * price.cached + usage.completion_tokens * price.completion
        return total / TOKENS_PER_PRICE

    def upper_bound_usd(self, model: str, prompt_bytes: int, max_output_tokens: int) -> float | None:
        """Returns the most that a call can cost; None if the price is unknown."""
        return self.cost_usd(model, upper_bound(prompt_bytes, max_output_tokens))


def upper_bound(prompt_bytes: int, max_output_tokens: int) -> Usage:
    """Returns the most tokens a call can use: no token is shorter than a byte, and the output limit is enforced."""
    return Usage(prompt_tokens=prompt_bytes, completion_tokens=max_output_tokens)


def _read(path: Path) -> dict[str, Price]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise UserError(
            f"the price file {path} cannot be read: {exc.strerror}", "Correct STEPMILL_PRICES_FILE."
        ) from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise UserError(f"the price file {path} is not valid TOML: {exc}", 'Write ["model"] and prompt = 1.0.') from exc
    return {model: _price(path, model, entry) for model, entry in table.items()}


def _price(path: Path, model: str, entry: Any) -> Price:
    """Reads one price; without `cached`, cached tokens cost as much as others."""
    hint = 'Write ["model"] with prompt, completion and perhaps cached, in USD per million tokens.'
    if isinstance(entry, dict) and (others := entry.keys() - _NAMES):
        unknown = unknown_name(min(others), _NAMES, "price")
        raise UserError(f"the price of {model!r} in {path} needs prompt and completion. {unknown}", hint)
    if not isinstance(entry, dict) or not {"prompt", "completion"} <= entry.keys():
        raise UserError(f"the price of {model!r} in {path} needs prompt and completion", hint)
    values = {**entry, "cached": entry.get("cached", entry["prompt"])}
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_USD:
            raise UserError(f"the price of {model!r} in {path}: {name} is {value!r}, not a price", hint)
    return Price(**values)
