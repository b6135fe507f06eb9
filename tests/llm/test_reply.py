"""Chat completions in the shapes that endpoints really send."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from worker.core.records import Usage
from worker.llm.reply import read_completion, read_usage


def text_of(content: Any) -> str:
    body = {"choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": None}]}
    return read_completion(orjson.dumps(body), {}).reply.text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ([{"type": "text"}, "odd"], ""),
        (7, ""),
    ],
)
def test_text_is_read_from_any_content(content: Any, text: str) -> None:
    assert text_of(content) == text


@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 4}, Usage(9, 0, 4)),
        ({"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 5}}, Usage(9, 5, 4)),
        ({"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": None}, Usage(9, 0, 4)),
        ({"prompt_tokens": 9, "completion_tokens": 4, "prompt_cache_hit_tokens": 8}, Usage(9, 8, 4)),
        ({"prompt_tokens": 9, "completion_tokens": 4, "prompt_cache_hit_tokens": 99}, Usage(9, 9, 4)),
        ({"prompt_tokens": 9, "completion_tokens": None}, Usage(9, 0, 0)),
        ({"prompt_tokens": 9.0, "completion_tokens": -1}, Usage(9, 0, 0)),
        ({"total_tokens": 9}, None),
        ({}, None),
        (None, None),
    ],
)
def test_usage_is_read_or_unknown(raw: object, usage: Usage | None) -> None:
    assert read_usage(raw) == usage


def test_native_tool_calls_stay_in_the_message() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "f"}}]}
    completion = read_completion(orjson.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}), {})
    assert completion.reply.message == message
    assert completion.reply.finish_reason == "tool_calls"
    assert completion.usage is None


@pytest.mark.parametrize(
    ("message", "usage", "only"),
    [
        ({"content": "", "reasoning_content": "Let me see"}, None, True),
        ({"content": None, "reasoning": "Let me see"}, None, True),
        ({"content": ""}, {"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 9}}, True),
        ({"content": "42", "reasoning_content": "Let me see"}, None, False),
        ({"content": None, "reasoning_content": "hm", "tool_calls": [{"function": {"name": "f"}}]}, None, False),
        ({"content": ""}, None, False),
    ],
)
def test_a_reply_that_only_thought_is_marked(message: dict[str, Any], usage: object, only: bool) -> None:
    body = {"choices": [{"message": message, "finish_reason": "length"}], "usage": usage}
    assert read_completion(orjson.dumps(body), {}).reply.reasoning_only is only
