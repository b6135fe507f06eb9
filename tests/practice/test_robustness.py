"""The practice model answers whatever it is asked, and quickly."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.practice.conversations import FORMS, opening
from worker.practice.completion import complete
from worker.practice.config import Config
from worker.practice.http import encode

WORDS = st.sampled_from(
    [
        "calculator(",
        ")",
        "3",
        " + ",
        "(",
        "weather",
        "in",
        "Beijing",
        "时间",
        "\"'",
        "then",
        "divide by",
        "100 hours",
        "?",
    ]
)
QUESTIONS = st.text() | st.lists(WORDS).map(" ".join)
CONTENTS = st.none() | st.text() | st.integers() | st.just("Observation: 3\n\nanswer now") | st.lists(st.none())
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "role": st.sampled_from(["system", "user", "assistant", "tool", "developer", "critic"]),
            "content": CONTENTS,
        },
    )
    | st.none(),
    max_size=6,
)


@settings(deadline=None, max_examples=150)
@given(QUESTIONS, st.sampled_from(FORMS))
def test_any_question_gets_a_reply_that_can_be_sent(question: str, form: str) -> None:
    completion = complete(opening(question, form), Config(), (1, 0), None)
    assert encode(completion.body)


@settings(deadline=None, max_examples=150)
@given(MESSAGES)
def test_any_messages_get_a_reply(messages: list[Any]) -> None:
    assert complete({"messages": messages}, Config(), (1, 0), None).choice["finish_reason"] == "stop"


@pytest.mark.parametrize(
    "piece",
    [
        "有几个",
        "calculator(1, ",
        "(1 + ",
        ") ",
        "100 hours ",
        "1-",
        "https://a.b ",
        '"',
        "in A ",
        "then 3 ",
        "file a/",
        "<b>",
        "\n\n",
    ],
)
def test_a_question_of_repetitions_is_answered_within_a_second(piece: str) -> None:
    started = time.process_time()
    complete(opening(piece * (100_000 // len(piece))), Config(), (1, 0), None)
    assert time.process_time() - started < 1
