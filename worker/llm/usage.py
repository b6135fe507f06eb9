"""Reads the tokens of a call, as each provider reports them. Pure: never raises."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from worker.core.records import Usage
from worker.llm.durations import number
from worker.llm.errorbody import simple

_PROMPT = ("prompttokens", "inputtokens", "prompttokencount", "inputtokencount", "promptevalcount")
_COMPLETION = ("completiontokens", "outputtokens", "candidatestokencount", "outputtokencount", "generatedtokens")
_TOTAL = ("totaltokens", "totaltokencount")
_CACHED = ("cachedtokens", "promptcachehittokens", "cachedcontenttokencount", "cachereadinputtokens")
_DETAILS = ("prompttokensdetails", "inputtokensdetails")
_APART = ("cachereadinputtokens", "cachecreationinputtokens")
"""Anthropic counts these separately from `input_tokens`."""
_PLACES = ("usage", "usageMetadata", "usage_metadata", "x_groq", "token_usage")
MAX_TOKENS = 10**12
"""A larger number is not taken for a token count."""


def find_usage(body: object) -> Usage | None:
    """Returns the usage in a response, also in an error; None if it gives neither side or no total."""
    if not isinstance(body, Mapping):
        return None
    error, choices = body.get("error"), body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    holders = [part for part in (body, body.get("x_groq"), first, error) if isinstance(part, Mapping)]
    found = (read_usage(holder.get(place)) for holder in holders for place in _PLACES)
    return next((usage for usage in found if usage is not None), None)


def read_usage(raw: object) -> Usage | None:
    """Returns None if either side is unknown: an unknown cost must not become 0.

    Tokens in `total_tokens` beyond prompt and completion count as completion: thinking, which is charged.
    """
    if not isinstance(raw, Mapping):
        return None
    counts = {simple(str(name)): value for name, value in raw.items()}
    prompt, completion, total = (_first(counts, names) for names in (_PROMPT, _COMPLETION, _TOTAL))
    prompt = _with_what_stands_apart(counts, prompt)
    if prompt is None and completion is not None and total is not None:
        prompt = max(0, total - completion)
    if prompt is None or (completion is None and total is None):
        return None
    completion = max(completion or 0, (total or 0) - prompt)
    if not prompt and not completion:
        return None  # a placeholder: every prompt has tokens
    return Usage(prompt, min(_cached(counts), prompt), completion)


def _with_what_stands_apart(counts: Mapping[str, Any], prompt: int | None) -> int | None:
    if prompt is None or "prompttokens" in counts:
        return prompt
    return prompt + sum(_count(counts.get(name)) or 0 for name in _APART)


def _cached(counts: Mapping[str, Any]) -> int:
    details: Mapping[str, Any] = next((counts[name] for name in _DETAILS if isinstance(counts.get(name), Mapping)), {})
    inner = {simple(str(name)): value for name, value in details.items()}
    return max(_first(counts, _CACHED) or 0, _first(inner, _CACHED) or 0)


def _first(counts: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((found for found in (_count(counts.get(name)) for name in names) if found is not None), None)


def _count(value: object) -> int | None:
    """Returns a token count, also from text or a whole float; None for anything else."""
    read = number(value)
    return int(read) if read is not None and math.isfinite(read) and 0 <= read <= MAX_TOKENS else None


def reasoning_tokens(raw: object) -> int:
    """Returns the thinking tokens in a usage, 0 if it names none."""
    if not isinstance(raw, Mapping):
        return 0
    counts = {simple(str(name)): value for name, value in raw.items()}
    details = counts.get("completiontokensdetails") or counts.get("outputtokensdetails")
    inner = {simple(str(name)): value for name, value in details.items()} if isinstance(details, Mapping) else {}
    names = ("reasoningtokens", "thoughtstokencount", "thinkingtokens")
    return max(_first(counts, names) or 0, _first(inner, names) or 0)
