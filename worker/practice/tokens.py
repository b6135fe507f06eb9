"""Counts tokens by a simple, stable rule, and remembers prefixes like a provider's prompt cache."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

BYTES_PER_TOKEN = 4
_REMEMBERED_PREFIXES = 50_000


@dataclass(frozen=True, slots=True)
class Counted:
    """Tokens of one call; `cached` is part of `prompt`."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0

    def with_completion(self, tokens: int) -> Counted:
        """Returns the same prompt with another number of completion tokens."""
        return replace(self, completion=tokens)

    def as_usage(self) -> dict[str, Any]:
        """Returns the chat API's `usage` object."""
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
            "prompt_tokens_details": {"cached_tokens": self.cached},
        }


def tokens_of(text: str) -> int:
    """Returns a quarter of the UTF-8 bytes, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)


class PromptCounter:
    """Counts a request's prompt tokens, and those in a prefix of whole messages seen before."""

    def __init__(self) -> None:
        self._seen: OrderedDict[int, None] = OrderedDict()

    def count(self, model: str, messages: Sequence[Mapping[str, Any]], tools: Any) -> tuple[int, int]:
        """Returns `(prompt, cached)` and remembers the prompt's prefixes."""
        prefix = hash((model, json.dumps(tools) if tools else ""))
        total = tokens_of(json.dumps(tools, ensure_ascii=False)) if tools else 0
        cached, known = 0, True
        for message in messages:
            written = _written(message)
            total += tokens_of(written)
            prefix = hash((prefix, written))
            known = known and prefix in self._seen
            cached = total if known else cached
            self._remember(prefix)
        return total, cached

    def _remember(self, prefix: int) -> None:
        self._seen[prefix] = None
        self._seen.move_to_end(prefix)
        if len(self._seen) > _REMEMBERED_PREFIXES:
            self._seen.popitem(last=False)


def _written(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    plain = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    calls = message.get("tool_calls")
    return plain + (json.dumps(calls, ensure_ascii=False) if calls else "")
