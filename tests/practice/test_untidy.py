"""Untidy replies: what each kind does to a reply, and that seed and conversation determine the kind."""

from __future__ import annotations

import pytest

from tests.practice.conversations import opening
from worker.practice.completion import complete
from worker.practice.config import Config
from worker.practice.untidy import KINDS, untidy

ACTION = 'Thought: Look.\nAction: get_weather\nAction Input: {"city": "Beijing"}'


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("fullwidth_colon", 'Thought： Look.\nAction： get_weather\nAction Input： {"city": "Beijing"}'),
        ("bold", '**Thought:** Look.\n**Action:** get_weather\n**Action Input:** {"city": "Beijing"}'),
        ("numbered", 'Thought 1: Look.\nAction 1: get_weather\nAction Input 1: {"city": "Beijing"}'),
        ("lower_case", 'thought: Look.\naction: get_weather\naction input: {"city": "Beijing"}'),
        ("chinese", '思考： Look.\n行动： get_weather\n行动输入： {"city": "Beijing"}'),
        ("crlf", ACTION.replace("\n", "\r\n")),
        ("special_tokens", f"{ACTION}<|im_end|>"),
        ("fenced_json", 'Thought: Look.\nAction: get_weather\nAction Input: \n```json\n{"city": "Beijing"}\n```'),
        ("trailing_comma", 'Thought: Look.\nAction: get_weather\nAction Input: {"city": "Beijing",}'),
        ("single_quotes", "Thought: Look.\nAction: get_weather\nAction Input: {'city': 'Beijing'}"),
        ("empty", ""),
    ],
)
def test_each_kind_changes_the_clothes_and_not_the_words(kind: str, written: str) -> None:
    assert untidy(kind, ACTION) == written


def test_an_invented_observation_follows_the_action() -> None:
    assert untidy("invented_observation", ACTION).startswith(f"{ACTION}\nObservation: 42\n")


def test_reasoning_holds_a_false_action_before_the_real_one() -> None:
    thought, _, rest = untidy("think", ACTION).partition("</think>\n")
    assert "Action: nothing" in thought
    assert rest == ACTION


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_takes_any_text(kind: str) -> None:
    for text in ("", "It is 4.", ACTION, '{"type": "answer", "content": "x"}', "{'broken"):
        assert isinstance(untidy(kind, text), str)


def test_kinds_follow_seed_and_conversation_alone() -> None:
    def kinds(seed: int) -> list[str | None]:
        config = Config(untidy=KINDS, untidy_rate=0.5, seed=seed)
        return [complete(opening(f"What is {n} + 1?"), config, (1, 0), None).untidy for n in range(40)]

    assert kinds(1) == kinds(1)
    assert kinds(1) != kinds(2)
    assert None in kinds(1)


def test_an_empty_native_reply_forgets_its_calls() -> None:
    completion = complete(opening("What is 3 + 4?", "native"), Config(untidy=("empty",)), (1, 0), None)
    assert "tool_calls" not in completion.message
    assert completion.choice["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("single_quotes", "{'expression': '3 + 4'}"),
        ("trailing_comma", '{"expression": "3 + 4",}'),
        ("fenced_json", '```json\n{"expression": "3 + 4"}\n```'),
        ("prose", '{"expression": "3 + 4"}'),
    ],
)
def test_native_arguments_may_be_untidy_json(kind: str, arguments: str) -> None:
    completion = complete(opening("What is 3 + 4?", "native"), Config(untidy=(kind,)), (1, 0), None)
    assert completion.message["tool_calls"][0]["function"]["arguments"] == arguments


def test_a_cut_reply_says_that_it_reached_its_length() -> None:
    completion = complete(opening("What is 3 + 4?"), Config(untidy=("cut",)), (1, 0), None)
    assert completion.choice["finish_reason"] == "length"
