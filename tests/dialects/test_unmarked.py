"""A known tool's call without markup, in whatever words or notation, is never shown as an answer."""
# ruff: noqa: E501  (tables of replies)

from __future__ import annotations

import json

import pytest

from tests.dialects.asking import labelled, parse
from tests.dialects.outcomes import Wanted, act, got, text_tool
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
    '{"name": "get_weather", "arguments": {"city": "Oslo"}}',
    '{"action": "get_weather", "action_input": {"city": "Oslo"}}',
    '{"type": "function_call", "call_id": "c7", "name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}',
    '{"toolUse": {"toolUseId": "t7", "name": "get_weather", "input": {"city": "Oslo"}}}',
    '{"plan": "look", "call": {"tool": "get_weather", "with": {"city": "Oslo"}}}',
    '{"tool": "get_weather", "location": "Oslo"}',
    '{"expressions": ["1+1"], "tool": "calculator"}',
    '{"function": "convert_time", "from": "9:00", "to_zone": "UTC"}',
    '{"tool": "current_time"}',
]
CUT = [
    '{"type": "function_call", "call_id": "c7", "name": "sql_query", "arguments": "{\\"query\\": \\"DROP',
    '{"id": "1", "name": "get_weather", "input": {"city": "Os',
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
    '[get_weather(city="Oslo")]',
    'Running {"query": "SELECT 1"} with sql_query',
    'I send {"expression": "6*7"} to the calculator now.',
    "<lookup>sql_query: SELECT 1</lookup>",
    '<lookup>sql_query("SELECT 1")</lookup>',
    '<lookup tool="get_weather" city="Oslo"/>',
    '<perform tool="get_weather"><city>Oslo</city></perform>',
    "[[web_search: tide at Brest]]",
    '{% get_weather city="Oslo" %}',
    "*uses get_weather with city Oslo*",
    "get_weather; city: Oslo",
    "get_weather?city=Oslo",
    "web_search -> tide at Brest",
    "web_search: tide at Brest",
    "calculator: 6 * 7",
    "get_weather:\n  city: Oslo",
    'tool="get_weather" city="Oslo"',
    "Call get_weather with city = Oslo",
    'invoke_tool("get_weather", {"city": "Oslo"})',
    "get_weather[Oslo]",
    '⟪do⟫get_weather⟪with⟫{"city": "Oslo"}',
    '["get_weather", {"city": "Oslo"}]',
]
NATIVE_ONLY = [
    "/web_search tide at Brest",
    "Using tool: get_weather",
    "get_weather Oslo",
    "<run>\nfound = get_weather(city='Oslo')\nprint(found)\n</run>",
    "<code>\nfinal_answer('4 °C')\n</code>",
    "Thought: I look.\nCode:\n```py\nprint(get_weather('Oslo'))\n```<end_code>",
    "get_weather\n```python\ntool_call(city='Oslo')\n```",
    'Action: ```json\n[{"tool_name": "no_such_tool", "parameters": {"a": 1}}]\n```',
    'Thought: t\nAction: no_such_tool\nAction Input: {"a": 1}',
]
"""A text dialect's labels settle what these are."""
READ = [
    ('{"tool": "get_weather", "city": "Oslo"}', act("get_weather", {"city": "Oslo"})),
    ('{"function": "get_weather", "args": {"city": "Oslo"}}', act("get_weather", {"city": "Oslo"})),
    ('```json\n{"action": "calculator", "action_input": "6*7"}\n```', act("calculator", {"expression": "6*7"})),
    ('{"thought": "so", "call": {"get_weather": {"city": "Oslo"}}}', act("get_weather", {"city": "Oslo"})),
    ('{"web_search": {"query": "tide", "max_results": 3}}', act("web_search", {"query": "tide", "max_results": 3})),
    ("{'tool': 'convert_time', 'time': '9:00', 'zone': 'UTC'}", act("convert_time", {"time": "9:00", "zone": "UTC"})),
    ('convert_time(time="9:00", zone="UTC", days=2)', act("convert_time", {"time": "9:00", "zone": "UTC", "days": 2})),
    ('get_weather => {"city": "Oslo"}', act("get_weather", {"city": "Oslo"})),
    # arguments that the schema does not allow, more than a call, or more than one tool that may be meant
    ('{"tool": "web_search", "query": "tide", "max_results": "many"}', None),
    ('{"tool": "convert_time", "time": "9:00"}', None),
    ('{"tool": "get_weather", "city": "Oslo", "unit": "C"}', None),
    ('{"tool": "get_weather", "name": "web_search", "query": "Oslo"}', None),
    ('convert_time(time="9:00", zone="UTC", days="two")', None),
    ('I will run {"query": "SELECT 1"} with sql_query.', None),
    ('Let me see. get_weather => {"city": "Oslo"}', None),
    ("web_search: tide at Brest", None),
    ("```python\nget_weather(city='Oslo')\n```", None),
    ('{"city": "Oslo"}, get_weather', None),
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
    "The tools are:\n\n- web_search: finds pages\n- get_weather: tells the weather of a city\n- calculator: computes",
    "calculator: a device that adds and multiplies.",
    "According to web_search: the tide turns at noon.",
    "High water is at noon.\n\nSources:\n- web_search: example.org/tide\n- get_weather: Brest",
    "web_search failed: no connection. I do not know when the tide turns.",
    "Do you want me to use get_weather for Oslo or for Bergen?",
    "It is noon (current_time, UTC).",
    '{"tool": "calculator", "result": 42}',
    '{"tool": "get_weather", "args": {"city": "Oslo"}, "observation": "4 °C"}',
    '{"name": "web_search", "description": "Finds pages."}',
    '[{"tool": "web_search", "purpose": "find pages"}, {"tool": "calculator", "purpose": "add"}]',
    '{"tools_used": ["web_search", "calculator"], "answer": "42"}',
    '["web_search", "calculator"]',
    '{"action": "buy", "city": "Oslo"}',
    "<li>web_search: finds pages</li>",
    "The document is:\n\n```json\n{\"city\": \"Oslo\"}\n```",
    "Here is the program:\n\n```python\ndef get_weather(city):\n    return 4\n\nprint(get_weather('Oslo'))\n```",
    "name: Ada\ncity: Oslo",
    "To ask, call get_weather(city) with the name of a city.",
    "| tool | input |\n|---|---|\n| calculator | 6*7 |",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("call", OBJECTS + WRITTEN + CUT)
def test_a_known_tools_call_is_no_answer(name: str, call: str) -> None:
    assert not isinstance(parse(name, labelled(name, call)), Answer)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("before", ["I look it up. ", "Let me see:\n\n"])
@pytest.mark.parametrize("call", [call for call in OBJECTS if call.startswith("{")])
def test_an_object_behind_prose_is_no_answer(name: str, before: str, call: str) -> None:
    assert not isinstance(parse(name, labelled(name, before + call)), Answer)


@pytest.mark.parametrize("before", ["", "I look it up.\n\n"])
@pytest.mark.parametrize("call", WRITTEN + NATIVE_ONLY)
def test_a_call_in_words_or_a_program_is_no_native_answer(before: str, call: str) -> None:
    if before and call in ("get_weather Oslo", *(call for call in NATIVE_ONLY if "Thought" in call)):
        return  # a name and a word are a call only where they are the whole text
    assert not isinstance(parse("native", before + call), Answer)


def test_a_list_of_written_calls_is_no_answer_though_no_such_tool_exists() -> None:
    assert not isinstance(parse("native", '[crm_lookup(id=3, scope="all")]'), Answer)


@pytest.mark.parametrize(("text", "call"), READ)
def test_a_native_reply_that_is_a_call_and_fits_its_schema_in_one_way_is_that_call(
    text: str, call: Wanted | None
) -> None:
    parsed = parse("native", text)
    if call is None:
        assert isinstance(parsed, Malformed), parsed
    else:
        assert got(parsed) == call


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


PLAIN_WORDS = [
    text_tool("time", "zone"), text_tool("note", "text"), text_tool("email", "to", subject="string"),
    text_tool("read", "path"), text_tool("weather", "city"),
]  # fmt: skip
ANSWERS_IN_PLAIN_WORDS = [
    "Time: 9:40",
    "time = 3 s",
    "(time flies like an arrow)",
    "[note: the numbers are rounded]",
    "It is 5 km.\n\nNote: 1 mile is 1.6 km.",
    "Email to: Ada\nSubject: Hi",
    "Weather\n\nCity: Oslo\nTemperature: 4",
    "Weather (Oslo): 4 °C",
    "*read to the end*",
    '{"time": "14:05"}',
    '{"email": "ada@example.org"}',
    '["read", "written"]',
    '["read", 5]',
]


@pytest.mark.parametrize("text", ANSWERS_IN_PLAIN_WORDS)
def test_a_tool_whose_name_is_a_word_as_any_makes_no_call_of_a_sentence(text: str) -> None:
    parsed = dialect("native").parse(Reply(text, "stop", {"content": text}), PLAIN_WORDS)
    assert isinstance(parsed, Answer), parsed
    assert parsed.text == text


@pytest.mark.parametrize(
    "text",
    [
        'note: text = "tea"',
        '<do>read("a.txt")</do>',
        "Using tool: time",
        'I send {"text": "tea"} to note.',
        '{"tool": "read", "file_path": "a.txt"}',
    ],
)
def test_such_a_tool_is_called_all_the_same_where_a_notation_shows_it(text: str) -> None:
    assert isinstance(dialect("native").parse(Reply(text, "stop", {"content": text}), PLAIN_WORDS), Malformed)


def test_what_may_describe_a_deed_is_not_done() -> None:
    told = '{"action": "read", "path": "a.txt"}'
    assert not isinstance(dialect("native").parse(Reply(told, "stop", {"content": told}), PLAIN_WORDS), Actions)
    asked = '{"tool": "read", "path": "a.txt"}'
    assert got(dialect("native").parse(Reply(asked, "stop", {"content": asked}), PLAIN_WORDS)) == act(
        "read", {"path": "a.txt"}
    )
