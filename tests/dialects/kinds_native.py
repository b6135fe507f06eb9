"""Messages of the native dialect as endpoints send them, and how each should be read."""
# ruff: noqa: E501  (a table reads best with one sample to a line)

from __future__ import annotations

import json
from typing import Any

from tests.dialects.outcomes import BAD, Wanted, act, acts, ans

OSLO = act("get_weather", {"city": "Oslo"})


def one(arguments: Any, name: Any = "get_weather", **others: Any) -> str:
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return json.dumps({"role": "assistant", "content": None, "tool_calls": [call], **others})


def many(*calls: tuple[str, Any, Any]) -> str:
    items = [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": args}} for name, args, id_ in calls
    ]
    return json.dumps({"role": "assistant", "content": None, "tool_calls": items})


def text(content: Any, **others: Any) -> str:
    return json.dumps({"role": "assistant", "content": content, **others})


C = '{"city": "Oslo"}'
J = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'

KINDS: list[tuple[str, str, Wanted]] = [
    ("plain", one(C), OSLO),
    ("text beside", one(C, content="I look it up."), OSLO),
    ("object", one({"city": "Oslo"}), OSLO),
    ("double encoded", one(json.dumps(C)), OSLO),
    ("list of one", one(f"[{C}]"), OSLO),
    ("list", one("[1, 2]"), BAD),
    ("list object", one([{"city": "Oslo"}]), OSLO),
    ("fence", one(f"```json\n{C}\n```"), OSLO),
    ("single quotes", one("{'city': 'Oslo'}"), OSLO),
    ("trailing comma", one('{"city": "Oslo",}'), OSLO),
    ("python literals", one("{'city': 'Oslo', 'x': None}"), act("get_weather", {"city": "Oslo", "x": None})),
    ("extra brace", one(C + "}"), OSLO),
    ("tag behind", one(C + "\n</tool_call>"), OSLO),
    ("token behind", one(C + "<|im_end|>"), OSLO),
    ("prose behind", one(C + " and then more"), BAD),
    ("cut", one('{"city": "Os'), BAD),
    ("cut after string", one('{"city": "Oslo"'), BAD),
    ("plain text", one("Oslo"), OSLO),
    ("quoted text", one('"Oslo"'), OSLO),
    ("number for text", one("42", "calculator"), act("calculator", "42")),
    ("plain text for parameters", one("1 in a", "convert_time"), BAD),
    ("plain program", one("print(1)", "python_executor"), act("python_executor", "print(1)")),
    ("empty string", one("", "current_time"), act("current_time", {})),
    ("empty object", one("{}", "current_time"), act("current_time", {})),
    ("null", one(None, "current_time"), act("current_time", {})),
    ("null text", one("null", "current_time"), act("current_time", {})),
    ("empty list", one([], "current_time"), act("current_time", {})),
    ("blank", one("  \n", "current_time"), act("current_time", {})),
    ("empty for one that needs it", one(""), BAD),
    ("missing arguments", json.dumps({"tool_calls": [{"id": "a", "function": {"name": "current_time"}}]}), act("current_time", {})),
    ("parameters key", json.dumps({"tool_calls": [{"function": {"name": "get_weather", "parameters": {"city": "Oslo"}}}]}), OSLO),
    ("flat call", json.dumps({"tool_calls": [{"name": "get_weather", "arguments": C}]}), OSLO),
    ("flat input", json.dumps({"tool_calls": [{"type": "tool_use", "name": "get_weather", "input": {"city": "Oslo"}}]}), OSLO),
    ("calls as object", json.dumps({"tool_calls": {"function": {"name": "get_weather", "arguments": C}}}), OSLO),
    ("function call", text(None, function_call={"name": "get_weather", "arguments": C}), OSLO),
    ("function call and empty calls", text(None, tool_calls=[], function_call={"name": "get_weather", "arguments": C}), OSLO),
    ("function call null", text("a", function_call=None), ans("a")),
    ("both forms", one(C, function_call={"name": "get_weather", "arguments": C}), OSLO),
    ("doubled arguments", one(C + C), OSLO),
    ("an empty object behind", one(C + "{}"), OSLO),
    ("empty then arguments", one("{}" + C), OSLO),
    ("two different arguments", one(C + '{"city": "Bergen"}'), BAD),
    ("doubled key", one('{"city": "Oslo", "city": "Bergen"}'), BAD),
    ("name prefix", one(C, "functions.get_weather"), OSLO),
    ("name prefix colon", one(C, "default_api:get_weather"), OSLO),
    ("name prefix api", one(C, "default_api.get_weather"), OSLO),
    ("name index", one(C, "functions.get_weather:0"), OSLO),
    ("name blanks", one(C, " get_weather\n"), OSLO),
    ("name case", one(C, "Get_Weather"), OSLO),
    ("name quotes", one(C, '"get_weather"'), OSLO),
    ("name parens", one(C, "get_weather()"), OSLO),
    ("name unknown", one(C, "weather"), act("weather", {"city": "Oslo"})),
    ("name empty", one(C, ""), BAD),
    ("name null", one(C, None), BAD),
    ("name doubled", one(C, "get_weatherget_weather"), act("get_weatherget_weather", {"city": "Oslo"})),
    ("nested string stays", one('{"query": "{\\"a\\": 1}"}', "web_search"), act("web_search", '{"a": 1}')),
    ("unicode escapes", one('{"city": "Troms\\u00f8"}'), act("get_weather", "Tromsø")),
    ("raw newline", one('{"code": "a\nb"}', "python_executor"), act("python_executor", "a\nb")),
    ("backslashes", one('{"code": "a\\\\nb"}', "python_executor"), act("python_executor", "a\\nb")),
    ("fence in code", one('{"code": "```python\\na\\n```"}', "python_executor"), act("python_executor", "```python\na\n```")),
    ("two calls", many(("get_weather", C, "a"), ("current_time", "{}", "b")), acts(("get_weather", {"city": "Oslo"}), ("current_time", {}))),
    ("same id", many(("get_weather", C, "a"), ("current_time", "{}", "a")), acts(("get_weather", {"city": "Oslo"}), ("current_time", {}))),
    ("same call, other id", many(("get_weather", C, "a"), ("get_weather", C, "b")), acts(("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Oslo"}))),
    ("same call, same id", many(("get_weather", C, "a"), ("get_weather", C, "a")), OSLO),
    ("no ids", many(("get_weather", C, None), ("current_time", "{}", None)), acts(("get_weather", {"city": "Oslo"}), ("current_time", {}))),
    ("one of two cut", many(("get_weather", C, "a"), ("web_search", '{"query": "x', "b")), BAD),
    ("answer", text("It is 4."), ans("It is 4.")),
    ("answer null calls", text("It is 4.", tool_calls=None), ans("It is 4.")),
    ("answer blanks", text("\n\nIt is 4.\n"), ans("It is 4.")),
    ("answer parts", text([{"type": "text", "text": "It is "}, {"type": "text", "text": "4."}]), ans("It is 4.")),
    ("answer parts with thinking", text([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "4"}]), ans("4")),
    ("answer with think", text("<think>5?</think>It is 4."), ans("It is 4.")),
    ("answer with closing think", text("5? no\n</think>\n\nIt is 4."), ans("It is 4.")),
    ("answer with closing think at once", text("So we reply.</think>It is 4."), ans("It is 4.")),
    ("answer mentions think", text("R1 writes <think> first and </think> last."), ans("R1 writes <think> first and </think> last.")),
    ("think only", text("<think>It is 4.</think>"), BAD),
    ("think unclosed", text("<think>It is 4."), BAD),
    ("think with call", text("<think>x</think>", tool_calls=[{"function": {"name": "get_weather", "arguments": C}}]), OSLO),
    ("reasoning beside", text("4", reasoning_content="5?"), ans("4")),
    ("reasoning only", text(None, reasoning_content="It is 4."), BAD),
    ("reasoning only, empty", text("", reasoning="It is 4."), BAD),
    ("refusal", text(None, refusal="I can't."), BAD),
    ("empty", text(""), BAD),
    ("blank content", text(" \n "), BAD),
    ("nothing", "{}", BAD),
    ("token", text("It is 4.<|im_end|>"), ans("It is 4.")),
    ("only token", text("<|im_end|>"), BAD),
    ("markdown answer", text("## A\n\n- b\n\n```python\nx\n```"), ans("## A\n\n- b\n\n```python\nx\n```")),
    ("json answer", text('{"a": 1}'), ans('{"a": 1}')),
    ("json list answer", text("[1, 2]"), ans("[1, 2]")),
    ("json answer fenced", text('```json\n{"a": 1}\n```'), ans('```json\n{"a": 1}\n```')),
    ("answer with labels", text("Observation: it is cold.\nAction: stay in."), ans("Observation: it is cold.\nAction: stay in.")),
    ("react in text", text(f"Thought: t\nAction: get_weather\nAction Input: {C}"), BAD),
    ("react explained", text(f"Like so:\n```\nAction: get_weather\nAction Input: {C}\n```"), ans(f"Like so:\n```\nAction: get_weather\nAction Input: {C}\n```")),
    ("hermes", text(f"<tool_call>\n{J}\n</tool_call>"), OSLO),
    ("hermes with prose", text(f"I look it up.\n<tool_call>\n{J}\n</tool_call>"), OSLO),
    ("hermes twice", text(f"<tool_call>{J}</tool_call>\n<tool_call>{J}</tool_call>"), acts(("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Oslo"}))),
    ("hermes unclosed", text(f"<tool_call>\n{J}"), OSLO),
    ("hermes cut", text('<tool_call>\n{"name": "get_weather", "argum'), BAD),
    ("hermes in think", text(f"<think>\n<tool_call>{J}</tool_call>\n</think>\nIt is 4."), ans("It is 4.")),
    ("hermes fenced", text(f"So:\n```\n<tool_call>{J}</tool_call>\n```"), ans(f"So:\n```\n<tool_call>{J}</tool_call>\n```")),
    ("hermes unknown", text('<tool_call>\n{"name": "wiki", "arguments": {}}\n</tool_call>'), BAD),
    ("mistral", text(f"[TOOL_CALLS][{J}]"), OSLO),
    ("llama tag", text(f"<|python_tag|>{J.replace('arguments', 'parameters')}"), OSLO),
    ("llama function", text(f"<function=get_weather>{C}</function>"), OSLO),
    ("bare object", text(J), OSLO),
    ("bare object parameters", text(J.replace("arguments", "parameters")), OSLO),
    ("bare object fenced", text(f"```json\n{J}\n```"), OSLO),
    ("bare object with type", text('{"type": "function", "function": ' + J + "}"), OSLO),
    ("deepseek", text("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather"), BAD),
    ("kimi", text("<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"), BAD),
    ("qwen coder", text("<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>"), OSLO),
    ("name in brackets, then arguments", text(f"Calling it. [get_weather] {C}"), BAD),
    ("name behind arrows, then arguments", text(f">>>get_weather\n{C}"), BAD),
    ("label, name, arguments", text(f"Tool call: get_weather({C})"), BAD),
    ("label, name, fenced arguments", text(f"**Tool Call:** `get_weather`\n```json\n{C}\n```"), BAD),
    ("name with arguments in words", text(f"Invoking tool get_weather with arguments: {C}"), BAD),
    ("object of another format", text(f'{{"tool": "get_weather", "tool_input": {C}}}'), BAD),
    ("written call in braces", text('{{get_weather(city="Oslo")}}'), BAD),
    ("tool code tag", text('<tool_code>print(get_weather(city="Oslo"))</tool_code>'), OSLO),
    ("labels of a template", text(f"✿FUNCTION✿: get_weather\n✿ARGS✿: {C}"), BAD),
    ("name and arguments in backticks", text(f"Write `get_weather {C}`"), ans(f"Write `get_weather {C}`")),
    ("fenced list behind a label", text(f"Action: ```json\n[{J}]```"), BAD),
    ("harmony, channel twice", text(f"<|channel|>commentary to=functions.get_weather<|channel|>commentary<|message|>{C}<|call|>"), OSLO),
    ("object without arguments", text('{"name": "get_weather"}'), ans('{"name": "get_weather"}')),
    ("object with more", text('{"name": "get_weather", "arguments": {}, "note": "x"}'), ans('{"name": "get_weather", "arguments": {}, "note": "x"}')),
    ("not an object call", json.dumps({"tool_calls": ["get_weather"]}), BAD),
    ("channel token in name", one(C, "get_weather<|channel|>json"), OSLO),
    ("text form of the answer", text("Final Answer: 4"), ans("Final Answer: 4")),
]  # fmt: skip
