"""Conversations composed by hand: prompts in the six forms, and a loop that plays the engine without its dialects."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from worker.practice.brain import think
from worker.practice.forms import native_calls, write
from worker.practice.reading import read
from worker.practice.records import Act, Call, Say

TOOL_LINES = """\
- calculator(expression: string)
  Computes an arithmetic expression.
- current_time(timezone?: string)
- convert_time(time: string, from_timezone: string, to_timezone: string)
- date_add(weeks?: integer, days?: integer, hours?: number, start?: string, timezone?: string)
- count_characters(text: string, character?: string | null)
- get_weather(city: string)
- get_attraction(city: string, weather: string)
- web_search(query: string)
- fetch_url(url: string)
- python_executor(code: string)
- read_file(path: string)
"""
PROMPTS = {
    "react_json": 'Thought: why\nAction: tool\nAction Input: {"parameter": "value"}\n\nThought: why\nAnswer: it',
    "react_text": "Thought: why\nAction: tool\nAction Input: plain text\n\nThought: why\nFinal Answer: it",
    "react_brackets": "Thought: why\nAction: tool[[input]]\n\nThought: why\nFinal Answer: it",
    "react_call": 'Thought: why\nAction: tool(name="value", n=3)\n\nThought: why\nAction: Finish[it]',
    "json": '{"type": "tool_call", "tool_name": "tool", "tool_args": {}} or {"type": "answer", "content": "it"}',
}
FORMS = (*PROMPTS, "native")
Message = dict[str, Any]


def prompt(form: str, tools: str = TOOL_LINES) -> str:
    """A system prompt with the tools, in the words of one form."""
    return f"You have these tools:\n\n{tools}\n{PROMPTS.get(form, '')}"


def native_tools(tools: str = TOOL_LINES) -> list[dict[str, Any]]:
    """The same tools as the chat API lists them."""
    found = []
    for name, signature in re.findall(r"^- (\w+)\((.*)\)", tools, re.MULTILINE):
        parts = [part.partition(":") for part in signature.split(", ") if part]
        schema = {
            "type": "object",
            "properties": {part.strip("?"): {"type": kind.split("|")[0].strip()} for part, _, kind in parts},
            "required": [part for part, _, _ in parts if not part.endswith("?")],
        }
        found.append({"type": "function", "function": {"name": name, "parameters": schema}})
    return found


def opening(question: str, form: str = "react_json", tools: str = TOOL_LINES) -> dict[str, Any]:
    """A request's body with nothing but the question."""
    body: dict[str, Any] = {
        "model": "practice",
        "messages": [{"role": "system", "content": prompt(form, tools)}, {"role": "user", "content": question}],
    }
    if form == "native":
        body["tools"] = native_tools(tools)
    return body


def intent(question: str, form: str = "react_json", tools: str = TOOL_LINES) -> Act | Say:
    """What the brain does first."""
    return think(read(opening(question, form, tools)))


def first_call(question: str, tools: str = TOOL_LINES) -> tuple[str, dict[str, Any]]:
    """The tool and arguments of the first call; fails where the brain answers at once."""
    act = intent(question, tools=tools)
    assert isinstance(act, Act), act
    return act.calls[0].tool, act.calls[0].args


def told(body: dict[str, Any], act: Act, observations: list[str]) -> None:
    """Appends a finished step to a body, as an engine would send it back."""
    conversation = read(body)
    text = write(act, conversation.form, conversation.tools)
    if conversation.form != "native":
        body["messages"] += [
            {"role": "assistant", "content": text},
            {"role": "user", "content": f"Observation: {observations[0]}"},
        ]
        return
    calls = native_calls(act, str(len(body["messages"])))
    body["messages"].append({"role": "assistant", "content": text, "tool_calls": calls})
    for call, observation in zip(calls, observations, strict=True):
        body["messages"].append({"role": "tool", "tool_call_id": call["id"], "content": observation})


def converse(
    question: str, run: Callable[[Call], str], form: str = "react_json", tools: str = TOOL_LINES, steps: int = 12
) -> tuple[str, list[list[Call]]]:
    """Plays a whole run with `run` as the tools: the answer, and the calls of each step."""
    body = opening(question, form, tools)
    made: list[list[Call]] = []
    for _ in range(steps):
        step = think(read(body))
        if isinstance(step, Say):
            return step.answer, made
        made.append(list(step.calls))
        told(body, step, [run(call) for call in step.calls])
    raise AssertionError(f"no answer after {steps} steps: {json.dumps(body['messages'], ensure_ascii=False)}")
