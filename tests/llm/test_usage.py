"""A call's usage, in each provider's format: read, or unknown, but never 0 if it was not reported."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.core.records import Usage
from worker.llm.usage import find_usage, read_usage


@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 4}, Usage(9, 0, 4)),
        ({"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 5}}, Usage(9, 5, 4)),
        ({"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": None}, Usage(9, 0, 4)),
        ({"prompt_tokens": 9, "completion_tokens": 4, "prompt_cache_hit_tokens": 8}, Usage(9, 8, 4)),
        ({"prompt_tokens": 9, "completion_tokens": 4, "prompt_cache_hit_tokens": 99}, Usage(9, 9, 4)),
        ({"prompt_tokens": 9, "completion_tokens": 4, "cached_tokens": 3}, Usage(9, 3, 4)),
        ({"prompt_tokens": "9", "completion_tokens": "4"}, Usage(9, 0, 4)),
        ({"prompt_tokens": 9.0, "completion_tokens": 4.0}, Usage(9, 0, 4)),
        ({"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 20}, Usage(9, 0, 11)),
        ({"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 5}, Usage(9, 0, 4)),
        ({"prompt_tokens": 9, "total_tokens": 20}, Usage(9, 0, 11)),
        ({"completion_tokens": 4, "total_tokens": 20}, Usage(16, 0, 4)),
        ({"input_tokens": 9, "output_tokens": 4}, Usage(9, 0, 4)),
        ({"input_tokens": 9, "output_tokens": 4, "cache_read_input_tokens": 100}, Usage(109, 100, 4)),
        ({"promptTokenCount": 9, "candidatesTokenCount": 4, "totalTokenCount": 20}, Usage(9, 0, 11)),
        ({"prompt_tokens": 9, "completion_tokens": None}, None),
        ({"prompt_tokens": 9, "completion_tokens": -1}, None),
        ({"prompt_tokens": 9}, None),
        ({"completion_tokens": 4}, None),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, None),
        ({"prompt_tokens": float("nan"), "completion_tokens": 4}, None),
        ({"prompt_tokens": 1e300, "completion_tokens": 4}, None),
        ({"total_tokens": 9}, None),
        ({}, None),
        (None, None),
        ([9, 4], None),
    ],
)  # fmt: skip
def test_usage_is_read_or_unknown(raw: object, usage: Usage | None) -> None:
    assert read_usage(raw) == usage


COUNTED = {"prompt_tokens": 9, "completion_tokens": 4}


@pytest.mark.parametrize(
    "body",
    [
        {"usage": COUNTED},
        {"usage": None, "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 4}},
        {"x_groq": {"usage": COUNTED}},
        {"choices": [{"usage": COUNTED}]},
        {"error": {"message": "broke", "usage": COUNTED}},
    ],
)
def test_usage_is_found_where_providers_put_it(body: dict[str, Any]) -> None:
    assert find_usage(body) == Usage(9, 0, 4)


counts = st.none() | st.integers() | st.floats() | st.text(max_size=3) | st.booleans()


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from(["prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens"]), counts)
)
def test_no_count_is_negative_and_cached_is_part_of_the_prompt(raw: dict[str, object]) -> None:
    usage = read_usage(raw)
    if usage is not None:
        assert 0 <= usage.cached_tokens <= usage.prompt_tokens
        assert usage.completion_tokens >= 0
