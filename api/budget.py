"""Checks a batch with a budget before it is accepted: known prices, and the upper bound of its first calls."""

from __future__ import annotations

import orjson

from api.context import Context
from worker.core.config import RunConfig
from worker.core.errors import UserError
from worker.dialects import dialect
from worker.dialects.prompt import system_prompt

FRAME_BYTES = 200
"""Bytes of a request around the question and the system prompt."""


class FirstCalls:
    """The upper bound of the first model calls of a batch's runs, collected while its questions are read.

    Each run gets at least this share of the budget; the exact bound of a call is computed when it is made.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._fixed_bytes: dict[str, int] = {}
        self._most: dict[str, int] = {}
        self.most_usd = 0.0

    def check(self, config: RunConfig) -> None:
        """Raises `UserError` if the model's price is unknown, since no budget could be enforced."""
        if self._context.prices.price(config.model) is None:
            message = f"The price of the model {config.model!r} is not known, so a budget cannot be kept."
            raise UserError(message, "Write it into a TOML file and name that in STEPMILL_PRICES_FILE.")

    def note(self, digest: str, config: RunConfig, question: str) -> None:
        """Adds a question; `digest` identifies the configuration `config`."""
        size = len(question.encode("utf-8", "replace"))
        if size <= self._most.get(digest, -1):
            return
        self._most[digest] = size
        if digest not in self._fixed_bytes:
            self._fixed_bytes[digest] = self._fixed(config)
        prompt_bytes = self._fixed_bytes[digest] + size
        bound = self._context.prices.upper_bound_usd(config.model, prompt_bytes, config.max_output_tokens)
        self.most_usd = max(self.most_usd, bound or 0.0)

    def _fixed(self, config: RunConfig) -> int:
        tools = self._context.tools.known(config.tools)
        spoken = dialect(config.dialect)
        system = system_prompt(spoken, tools, config.instructions)
        return (
            len(orjson.dumps([system, [one.model_dump() for one in config.examples], spoken.request(tools)]))
            + FRAME_BYTES
        )
