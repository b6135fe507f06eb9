"""Prose counts as an answer if the agent's settings say so, and only if it can mean nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialects.outcomes import TOOLS
from worker.core.config import RunConfig
from worker.core.moves import Answered, Unreadable
from worker.core.records import Reply, Usage
from worker.dialects import DIALECTS
from worker.dialects.parsing.prose import prose
from worker.llm.client import ModelReply
from worker.store.queries.history import History
from worker.tasks.conversation import read_reply

VIEWS = list(TOOLS.values())
NOT_PROSE = {
    "a thought alone": "Thought: I should compare the two offers first.",
    "a Chinese thought": "思考：先比较一下",
    "a bold label": "**Action:** look it up",
    "a label behind prose": "I know it.\nAction: get_weather",
    "a label inside a line": "I will use Action Input: Oslo",
    "an invented observation": "It was quick.\nObservation: 3 degrees",
    "a call in brackets": "I will run calculator[[2 + 2]] now.",
    "a call in parentheses": 'Next: get_weather(city="Oslo")',
    "an unclosed finish": "Well, Finish[it is sunny",
    "a JSON object": '{"city": "Oslo"}',
    "an unreadable object of ours": 'Here: {"type": "tool_call", "tool_name"',
    "leaked markup": '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
    "an HTML page": "<html><body>Bad gateway</body></html>",
    "reasoning alone": "<think>It is four.",
    "nothing": " \n",
}


@pytest.mark.parametrize("text", NOT_PROSE.values(), ids=NOT_PROSE.keys())
def test_what_holds_a_label_a_call_or_markup_is_no_prose(text: str) -> None:
    assert prose(Reply(text, "stop"), VIEWS) is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Oslo is the capital of Norway.", "Oslo is the capital of Norway."),
        ("<think>Action: none</think>\n\nIt is four.<|im_end|>", "It is four."),
        ("Three steps:\n\n1. Go (now)\n2. Note: wait\n\n| a | b |\n|---|---|", None),
        ("奥斯陆是挪威的首都。", None),
    ],
)
def test_prose_is_taken_without_what_no_reader_should_see(text: str, answer: str | None) -> None:
    assert prose(Reply(text, "stop"), VIEWS) == (answer or text)


@pytest.mark.parametrize("finish_reason", ["length", "content_filter", "tool_calls"])
def test_prose_that_was_cut_is_no_answer(finish_reason: str) -> None:
    assert prose(Reply("Oslo is the capital of", finish_reason), VIEWS) is None


def _event(dialect: str, text: str, **settings: Any) -> Any:
    reply = ModelReply(Reply(text, "stop", {"role": "assistant", "content": text}), Usage(), 0.1)
    config = RunConfig(dialect=dialect, model="practice", **settings)
    return read_reply(reply, config, [], History("What is the capital of Norway?", ()), "e")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_agent_with_plain_answers_takes_prose_in_every_dialect(dialect: str) -> None:
    event, record = _event(dialect, "It is Oslo.", plain_answers=True)
    assert event == Answered("It is Oslo.")
    assert (record.kind, record.answer, record.notice) == ("answer", "It is Oslo.", None)


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name != "native"])
def test_without_the_setting_prose_is_malformed_and_the_model_is_told_how_to_write(dialect: str) -> None:
    event, record = _event(dialect, "It is Oslo.")
    assert isinstance(event, Unreadable)
    assert record.kind == "malformed" and record.notice
    assert event.reason == record.notice, "what the model is told, people read too if it goes on so"


def test_the_setting_changes_nothing_for_a_reply_in_the_dialect() -> None:
    event, _ = _event("react_json", "Thought: known\nAnswer: Oslo", plain_answers=True)
    assert event == Answered("Oslo")
    event, _ = _event("react_json", "Thought: I should look that up.", plain_answers=True)
    assert isinstance(event, Unreadable)
