"""An endpoint's extra message fields go back unchanged, and without anything that a strict endpoint refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.core.provider_extras import (
    MAX_KEPT_BYTES,
    call_extra,
    echoed,
    message_extra,
    of_call,
    of_message,
    tied_id,
    to_store,
    untied,
    with_extra,
    without_echo,
)

JSON = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(min_size=1),
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.text(), inner, min_size=1, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["extra_content", "reasoning_content", "reasoning", "reasoning_details", "thinking_blocks",
                         "provider_specific_fields", "signature", "x-odd name"])  # fmt: skip
EXTRA = st.dictionaries(NAMES, JSON, max_size=4)
KNOWN_CALL = {"id": "abc", "type": "function", "function": {"name": "search", "arguments": '{"q": "1"}'}}


@given(extra=EXTRA)
def test_whatever_a_message_carries_beyond_the_api_goes_back_as_it_came(extra: dict[str, Any]) -> None:
    message = {"role": "assistant", "content": "I look.", "refusal": None, "annotations": [], "audio": None, **extra}
    kept = of_message(json.loads(json.dumps(to_store(message_extra(message), []))))
    sent = with_extra({"role": "assistant", "content": "I look."}, kept)
    assert sent == {"role": "assistant", "content": "I look.", **extra}


@given(extra=EXTRA, inside=EXTRA, other=EXTRA)
def test_whatever_a_tool_call_or_its_function_carries_goes_back_on_that_call(
    extra: dict[str, Any], inside: dict[str, Any], other: dict[str, Any]
) -> None:
    given_back = {**KNOWN_CALL, **extra, "function": {**KNOWN_CALL["function"], **inside}}  # type: ignore[dict-item]
    calls = [call_extra({**given_back, "index": 0}), call_extra({**KNOWN_CALL, **other})]
    stored = json.loads(json.dumps(to_store({}, calls)))
    assert with_extra(KNOWN_CALL, of_call(stored, 1)) == given_back
    assert with_extra(KNOWN_CALL, of_call(stored, 2)) == {**KNOWN_CALL, **other}
    assert of_call(stored, 3) == {}


@pytest.mark.parametrize(
    "noise",
    [{"refusal": "No."}, {"annotations": [{"url": "x"}]}, {"audio": {"id": "a"}}, {"function_call": {"name": "f"}},
     {"reasoning_content": None}, {"reasoning_content": ""}, {"reasoning_details": []}, {"extra_content": {}}],
)  # fmt: skip
def test_what_only_replies_have_and_what_is_empty_is_not_kept(noise: dict[str, Any]) -> None:
    assert to_store(message_extra({"role": "assistant", "content": "x", **noise}), [{}]) is None


def test_what_is_written_now_is_never_replaced_by_what_came_before() -> None:
    assert with_extra({"content": "now"}, {"content": "then", "signature": "s"}) == {"content": "now", "signature": "s"}


def test_of_too_much_the_largest_fields_are_dropped_and_noted_and_a_signature_stays() -> None:
    long = "t" * MAX_KEPT_BYTES
    stored = to_store({"reasoning_content": long}, [{"extra_content": {"google": {"thought_signature": "s" * 3000}}}])
    assert stored is not None
    assert of_message(stored) == {}
    assert of_call(stored, 1)["extra_content"]["google"]["thought_signature"] == "s" * 3000
    assert stored["left_out"] == [f"reasoning_content ({MAX_KEPT_BYTES + 2} bytes)"]
    assert to_store({"reasoning_content": long[:-2]}, []) == {"message": {"reasoning_content": long[:-2]}}


def test_a_field_that_is_nested_beyond_all_bounds_is_dropped_not_raised_about() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    stored = to_store({"odd": deep, "half": "\ud83d"}, [])
    assert stored is not None
    assert stored["message"] == {"half": "\ud83d"}
    assert stored["left_out"] == [f"odd ({MAX_KEPT_BYTES + 1} bytes)"]
    while isinstance(deep, list):  # taken apart from outside: to free it at once would need a deep stack
        deep = deep.pop()


@pytest.mark.parametrize(
    ("call_id", "extra", "kept"),
    [
        ("call_1", {}, None),
        ("functions.search:0", {}, None),
        (None, {"id": "x"}, None),
        ("", {"id": ""}, None),
        (
            "tool_abc",
            {"reasoning_details": [{"type": "reasoning.encrypted", "id": "tool_abc", "data": "…"}]},
            "tool_abc",
        ),
        ("tool_abc", {"reasoning_content": "I call tool_abc now."}, None),
        ("call_1__thought__" + "A" * 200, {}, "call_1__thought__" + "A" * 200),
    ],
)
def test_an_endpoints_own_id_goes_back_where_its_fields_name_it_or_it_holds_more_than_a_name(
    call_id: str | None, extra: dict[str, Any], kept: str | None
) -> None:
    assert tied_id(call_id, {}, extra) == kept


def test_fields_that_name_calls_stay_away_where_these_calls_are_not_shown() -> None:
    extra = {"reasoning_details": [{"id": "tool_abc"}], "reasoning": "I call it."}
    assert untied(extra, {"tool_abc"}) == {"reasoning": "I call it."}


CALL = with_extra(KNOWN_CALL, {"extra_content": {"s": 1}, "function": {"signature": "f"}})
SENT: list[dict[str, Any]] = [
    {"role": "user", "content": "Weather?", "name": "a"},
    {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "abc", "content": "3 °C"},
]


def test_the_fields_given_back_are_known_by_name_so_that_a_refusal_of_one_can_be_learned() -> None:
    assert echoed(SENT) == {"reasoning_content", "extra_content", "signature"}
    assert echoed(SENT[:1]) == frozenset()


def test_fields_that_an_endpoint_refuses_are_left_out_and_nothing_else() -> None:
    assert echoed(without_echo(SENT, {"extra_content", "signature"})) == {"reasoning_content"}
    bare = without_echo(SENT, echoed(SENT))
    assert bare == [SENT[0], {"role": "assistant", "content": None, "tool_calls": [KNOWN_CALL]}, SENT[2]]
    assert without_echo(SENT, {"content", "tool_calls", "name"}) == SENT
    assert echoed(SENT), "the given messages are not changed"
