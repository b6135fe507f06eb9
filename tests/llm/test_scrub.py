"""A key that comes back is hidden, however it is escaped and wherever it is; placeholders for keys stay."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.llm.scrub import HIDDEN, Scrubber

KEYS = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters='\\"'), min_size=16, max_size=40)
TEXTS = st.text(max_size=30)
WORDS = ("x", "EMPTY", "ollama", "lm-studio", "token", "sk-123")


def escaped(text: str) -> str:
    """As JSON may write it: every character as an escape."""
    return "".join(f"\\u{ord(character):04x}" for character in text)


@given(KEYS, TEXTS, TEXTS)
def test_a_key_is_in_no_text_in_whatever_spelling(key: str, before: str, after: str) -> None:
    slashes = json.dumps(key)[1:-1].replace("/", "\\/")
    for spelled in (key, quote(key), quote(key, safe=""), json.dumps(key), escaped(key), escaped(key).upper(), slashes,
                    json.dumps(slashes), json.dumps(json.dumps(key))):  # fmt: skip
        spelled = spelled.replace("\\U", "\\u")
        cleaned = Scrubber([key]).text(before + spelled + after)
        assert spelled not in cleaned
        assert HIDDEN in cleaned


@given(KEYS, st.recursive(TEXTS | st.none() | st.booleans() | st.integers(), lambda inner: st.lists(inner, max_size=3)
                          | st.dictionaries(TEXTS, inner, max_size=3)))  # fmt: skip
def test_a_tree_without_the_key_stays_as_it_is_and_one_with_it_loses_it(key: str, tree: Any) -> None:
    if key not in json.dumps(tree, ensure_ascii=False):
        assert Scrubber([key]).tree(tree) == tree
    planted = {"a": [tree, {f"name {key}": [f"text {key}"]}]}
    assert Scrubber([key]).tree(planted)["a"][1] == {f"name {HIDDEN}": [f"text {HIDDEN}"]}


@pytest.mark.parametrize("key", WORDS)
def test_a_word_that_stands_in_for_a_key_stays_in_answers_and_is_hidden_in_errors(key: str) -> None:
    hidden = Scrubber([key])
    text = f"Ask {key}, not x{key}x: an EMPTY token of ollama"
    assert hidden.text(text) == text
    assert f"Ask {HIDDEN}, not x" in hidden.error(text)


@pytest.mark.parametrize(
    "told",
    [
        "key sk-proj-abcdef", "sk-***********6789", "Bearer abcdef123", "AIzaSyA1234567890", "hf_abcdefghijkl",
        "nvapi-abcdef", "see http://me:abcdef@host/", "eyJhbGciOiJIUzI1.eyJzdWIiOiIx.abcdef",
    ],
)  # fmt: skip
def test_what_looks_like_a_key_is_hidden_in_errors(told: str) -> None:
    cleaned = Scrubber([]).error(told)
    assert HIDDEN in cleaned
    assert not {"abcdef", "6789", "1234567890"} & {part for part in ("abcdef", "6789", "1234567890") if part in cleaned}


def test_the_longer_of_two_keys_goes_first_and_an_error_is_bounded() -> None:
    short, long = "k" * 16, "k" * 16 + "-and-more"
    assert Scrubber([short, long]).text(f"{long} {short}") == f"{HIDDEN} {HIDDEN}"
    assert len(Scrubber([]).error("word " * 1000)) == 400
