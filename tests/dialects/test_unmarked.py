"""A known tool's call without markup, in whatever words or notation, is never shown as an answer."""
# ruff: noqa: E501  (tables of replies)

from __future__ import annotations

import json

import pytest

from tests.dialects.outcomes import TOOLS
from worker.core.records import Actions, Answer, Malformed, Reply
from worker.dialects import DIALECTS, dialect

NAMES = list(DIALECTS)
OBJECTS = [
    '{"get_weather": {"city": "Oslo"}}',
    '[{"get_weather": {"city": "Oslo"}}]',
    '{"recipient_name": "functions.get_weather", "parameters": {"city": "Oslo"}}',
    '{"tool_uses": [{"recipient_name": "functions.get_weather", "parameters": {"city": "Oslo"}}]}',
    '{"actions": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}',
    '{"call": "get_weather", "with": {"city": "Oslo"}}',
    '{"parameters": {"city": "Oslo"}, "name": "get_weather"}',
    '{"name": "get_weather", "city": "Oslo"}',
    '{"command": "get_weather", "city": "Oslo"}',
    '{"name": "get_weather", "arguments": null}',
    '{"type": "tool_use", "name": "get_weather", "input": {"city": "Oslo"}, "caller": "assistant"}',
    '{"type": "tool_call", "tool_name": "get_weather", "tool_args": {"city": "Oslo"}}',
    "{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}",
    '{name: "get_weather", arguments: {city: "Oslo"}}',
    '{"name": "get_weather", "arguments": {"city": "Oslo",}}',
]
WRITTEN = [
    'get_weather(city="Oslo")',
    'get_weather(\n    city="Oslo",\n)',
    'get_weather(city="Oslo")\nget_weather(city="Bari")',
    'I look it up.\n\nget_weather(city="Oslo")',
    'result = get_weather(city="Oslo")\nprint(result)',
    'Next: get_weather(city="Oslo")',
    '{"tool_code": "get_weather(city=\\"Oslo\\")"}',
    'get_weather.run(city="Oslo")',
    'get_weather("Oslo")',
    "tool_calls:\n  - name: get_weather\n    arguments:\n      city: Oslo",
    "Tool: get_weather, Input: Oslo",
    "[get_weather: Oslo]",
    'await get_weather(city="Oslo")',
    'to=get_weather code={"city": "Oslo"}',
    'Ich rufe jetzt get_weather mit {"city": "Oslo"} auf.',
    'Llamo a get_weather con {"city": "Oslo"}.',
    '调用 get_weather，参数为 {"city": "Oslo"}',
    'Action: get_weather\nAction Input: {"city": "Oslo"}',
    "- name: get_weather\n  arguments:\n    city: Oslo",
    '/get_weather city="Oslo"',
    "get_weather --city Oslo",
]
ANSWERS = [
    'I called get_weather for Oslo; it gave {"temp": 4}.',
    '{"weather": {"city": "Oslo", "temp": 4}}',
    '{"get_weather": {"description": "The weather.", "cost": 1}}',
    '{"used": "get_weather", "answer": "4 °C"}',
    '{"source": "web_search", "confidence": 0.8, "data": {"price": 3}}',
    '{"type": "Feature", "properties": {"name": "Oslo"}, "geometry": null}',
    "The signature is get_weather(city: str) -> dict.",
    'Write `get_weather(city="Oslo")`.',
    'Set f(city="Oslo") first.',
    "{it: stays} a text, as {x: 1} does.",
    "So:\n\n```json\n{\"recipient_name\": \"functions.get_weather\", \"parameters\": {\"city\": \"Oslo\"}}\n```\nis how it looks.",
    "The answer is 42 (calculator).",
    "Step 1: open the calculator. Step 2: type 2+2.",
]  # fmt: skip


def labelled(name: str, text: str) -> str:
    """The text as the answer of a dialect."""
    if name == "native":
        return text
    if name == "json":
        return json.dumps({"type": "answer", "content": text})
    return f"Thought: t\nAction: Finish[{text}]" if name == "react_call" else f"Thought: t\nFinal Answer: {text}"


def parse(name: str, text: str) -> Actions | Answer | Malformed:
    return dialect(name).parse(Reply(text, None, {"role": "assistant", "content": text}), list(TOOLS.values()))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("call", OBJECTS + WRITTEN)
def test_a_known_tools_call_is_no_answer(name: str, call: str) -> None:
    assert not isinstance(parse(name, labelled(name, call)), Answer)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("before", ["I look it up. ", "Let me see:\n\n"])
@pytest.mark.parametrize("call", [call for call in OBJECTS if call.startswith("{")])
def test_an_object_behind_prose_is_no_answer(name: str, before: str, call: str) -> None:
    assert not isinstance(parse(name, labelled(name, before + call)), Answer)


@pytest.mark.parametrize("content", [{"name": "get_weather", "arguments": {"city": "Oslo"}}, [json.loads(OBJECTS[5])]])
def test_the_content_of_a_json_answer_may_not_be_a_call_itself(content: object) -> None:
    parsed = parse("json", json.dumps({"type": "answer", "content": content}))
    assert isinstance(parsed, Malformed)
    assert "tool call" in parsed.reason


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ANSWERS)
def test_what_only_names_a_tool_or_resembles_a_call_is_an_answer(name: str, text: str) -> None:
    parsed = parse(name, labelled(name, text))
    assert isinstance(parsed, Answer), parsed
    assert parsed.text == text
