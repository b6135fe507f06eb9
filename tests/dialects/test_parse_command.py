"""`stepmill parse` explains how a reply is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from worker.cli.parse import parse_command
from worker.dialects import DIALECTS


def run(arguments: list[str], text: str) -> Result:
    return CliRunner().invoke(parse_command, arguments, input=text)


def outcome(arguments: list[str], text: str) -> dict[str, Any]:
    done = run(arguments, text)
    assert done.exit_code == 0, done.output
    loaded = json.loads(done.output)
    assert isinstance(loaded, dict)
    return loaded


def test_an_action_is_shown_with_what_was_dropped() -> None:
    reply = 'Thought: t\nAction: get_weather\nAction Input: {"city": "Oslo"}\nObservation: 3\nAnswer: 3'
    shown = outcome(["--dialect", "react_json", "--tools", "get_weather"], reply)
    assert shown["kind"] == "action"
    assert (shown["tool"], shown["args"]) == ("get_weather", {"city": "Oslo"})
    assert (shown["answer"], shown["reason"], shown["thought"]) == (None, None, "t")
    assert "Observation: 3" in shown["dropped"][0]


def test_a_malformed_reply_is_shown_with_its_reason() -> None:
    shown = outcome(["--dialect", "json"], "no idea")
    assert shown["kind"] == "malformed"
    assert '"type": "tool_call"' in shown["reason"]
    assert (shown["tool"], shown["args"], shown["answer"]) == (None, None, None)


def test_an_unregistered_tool_takes_anything() -> None:
    shown = outcome(["--dialect", "react_text", "--tools", "my_tool"], "Action: my_tool\nAction Input: a b")
    assert (shown["tool"], shown["args"]) == ("my_tool", "a b")
    shown = outcome(["--dialect", "react_json", "--tools", "my_tool"], 'Action: my_tool\nAction Input: {"x": 1}')
    assert (shown["tool"], shown["args"]) == ("my_tool", {"x": 1})


def test_an_unknown_name_is_kept() -> None:
    shown = outcome(["--dialect", "react_text", "--tools", "calculator"], "Action: wiki\nAction Input: a")
    assert (shown["kind"], shown["tool"]) == ("action", "wiki")


@pytest.mark.parametrize("wrap", ["{0}", '{{"message": {0}}}', '{{"choices": [{{"message": {0}}}]}}'])
def test_a_native_reply_is_a_message_a_choice_or_a_response(wrap: str) -> None:
    call = {"function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
    other = {"function": {"name": "current_time", "arguments": "{}"}}
    text = wrap.format(json.dumps({"content": None, "tool_calls": [call, other]}))
    shown = outcome(["--dialect", "native", "--tools", "get_weather,current_time"], text)
    assert [(one["tool"], one["args"]) for one in shown["calls"]] == [
        ("get_weather", {"city": "Oslo"}),
        ("current_time", {}),
    ]


def test_a_native_reply_that_is_no_json_is_its_text() -> None:
    assert outcome(["--dialect", "native"], "It is 4.\n")["answer"] == "It is 4."


def test_lines_come_out_in_order_one_for_each() -> None:
    lines = [
        {"dialect": "react_text", "output": "Final Answer: é", "tools": []},
        {"dialect": "json", "output": '{"type": "answer", "content": "b"}', "tools": ["calculator"]},
    ]
    done = run(["--jsonl"], "\n".join(json.dumps(line) for line in lines) + "\n\n")
    assert [json.loads(line)["answer"] for line in done.output.splitlines()] == ["é", "b"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "Line 2 is not valid JSON"),
        ("[]", "Line 2 is not a JSON object"),
        ('{"dialect": "json"}', 'Line 2: "output" is missing'),
        ('{"dialect": "yaml", "output": ""}', 'Line 2: There is no dialect "yaml"'),
        ('{"dialect": "json", "output": "", "tools": "a"}', 'Line 2: "tools" must be a list'),
    ],
)
def test_a_wrong_line_stops_with_its_number(line: str, complaint: str) -> None:
    done = run(["--jsonl"], f'{{"dialect": "json", "output": ""}}\n{line}\n')
    assert done.exit_code == 2
    assert complaint in done.output


def test_without_a_dialect_the_known_ones_are_named() -> None:
    done = run([], "x")
    assert done.exit_code == 2
    assert "react_json|react_text" in done.output
    done = run(["--dialect", "yaml"], "x")
    assert done.exit_code == 2
    assert 'There is no dialect "yaml"' in done.output


def test_an_error_where_the_reply_belongs_is_no_answer_in_any_dialect() -> None:
    for name in DIALECTS:
        shown = outcome(["--dialect", name], "Error: 503 Service Unavailable")
        assert (shown["kind"], shown["answer"]) == ("malformed", None)
    beside = {"role": "assistant", "content": "It is", "error": {"code": 502, "message": "gone"}}
    assert outcome(["--dialect", "native"], json.dumps(beside))["kind"] == "malformed"
    assert "repeats" in outcome(["--dialect", "native"], "no healthy upstream")["reason"]


def test_text_in_parentheses_is_shown_as_the_parameter_that_it_is() -> None:
    shown = outcome(["--dialect", "react_call", "--tools", "web_search"], 'Action: web_search("tide")')
    assert shown["args"] == {"query": "tide"}
