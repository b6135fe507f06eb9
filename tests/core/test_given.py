"""Unknown names get a suggestion; values that JSON cannot represent are reported, however deep or large."""

from __future__ import annotations

import math
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.core.given import MAX_DEPTH, nearest, shown, unfit, unknown_name

OPTIONS = ("agent", "model", "dialect", "max_steps", "budget_usd", "submission_key", "temperature")


def nested(depth: int, kind: type = list) -> Any:
    value: Any = kind()
    for _ in range(depth - 1):
        value = [value] if kind is list else {"k": value}
    return value


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("max_step", "max_steps"), ("maxSteps", "max_steps"), ("MAX-STEPS", "max_steps"), ("Model", "model"),
        ("temprature", "temperature"), ("budget", "budget_usd"), ("budgetusd", "budget_usd"), ("agnet", "agent"),
        ("submissionKey", "submission_key"), ("colour", None), ("x", None), ("", None), ("²" * 500, None),
    ],
)  # fmt: skip
def test_the_nearest_name_is_the_one_that_was_meant(name: str, meant: str | None) -> None:
    assert nearest(name, OPTIONS) == meant
    sentence = unknown_name(name, OPTIONS, "field")
    assert (repr(meant) if meant else "there is agent") in sentence and len(sentence) < 300


@pytest.mark.parametrize("kind", [list, dict])
def test_values_are_refused_beyond_32_levels_and_at_no_fewer(kind: type) -> None:
    assert unfit(nested(MAX_DEPTH, kind)) is None
    for depth in (MAX_DEPTH + 1, 253, 1_000, 100_000):
        assert "32 levels" in str(unfit(nested(depth, kind)))
        assert len(shown(nested(depth, kind))) < 200


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, 2**64, -(2**63) - 1, 10**400])
def test_numbers_that_json_cannot_carry_are_told(number: float) -> None:
    assert unfit({"a": [1, {"b": number}]}) is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(JSON)
def test_what_is_fit_can_be_written_as_json_and_read_back(value: Any) -> None:
    if unfit(value) is None:
        assert unfit(orjson.loads(orjson.dumps(value))) is None
