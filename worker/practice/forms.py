"""Writes an intent in the reply form that the instructions ask for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from worker.practice.records import Act, Call, Intent, Say, ToolSpec

CODE_PARAMS = ("code", "program", "source")


def write(intent: Intent, form: str, tools: Mapping[str, ToolSpec]) -> str:
    """Returns the reply's text. For `native` it is the text beside the calls, which come from `native_calls`."""
    if isinstance(intent, Say):
        return _written_answer(intent, form)
    if form == "native":
        return intent.thought
    call = intent.calls[0]
    return _WRITE_ACTION[form](intent.thought, call, tools.get(call.tool, ToolSpec(call.tool)))


def native_calls(intent: Act, seed: str) -> list[dict[str, Any]]:
    """Returns the calls in the chat API's form; ids derive from `seed`, so the same request gets the same ids."""
    return [
        {
            "id": f"call_{seed}{index}",
            "type": "function",
            "function": {"name": call.tool, "arguments": _json(call.args)},
        }
        for index, call in enumerate(intent.calls)
    ]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _plain_or_json(call: Call, tool: ToolSpec) -> str:
    """Returns plain text if the only argument is the text parameter; else the object as JSON."""
    if len(call.args) == 1:
        (name, value), *_ = call.args.items()
        if name == tool.text_param and isinstance(value, str):
            return value
    return _json(call.args)


def _react_json(thought: str, call: Call, tool: ToolSpec) -> str:
    code = next((call.args[name] for name in CODE_PARAMS if set(call.args) == {name}), None)
    written = f"```python\n{code}\n```" if isinstance(code, str) else _json(call.args)
    gap = "\n" if isinstance(code, str) else " "
    return f"Thought: {thought}\nAction: {call.tool}\nAction Input:{gap}{written}"


def _react_text(thought: str, call: Call, tool: ToolSpec) -> str:
    return f"Thought: {thought}\nAction: {call.tool}\nAction Input: {_plain_or_json(call, tool)}"


def _react_brackets(thought: str, call: Call, tool: ToolSpec) -> str:
    return f"Thought: {thought}\nAction: {call.tool}[[{_plain_or_json(call, tool)}]]"


def _literal(value: object) -> str:
    """Writes a JSON value as Python does, with strings in double quotes."""
    if isinstance(value, str):
        return _json(value)
    return repr(value)


def _react_call(thought: str, call: Call, tool: ToolSpec) -> str:
    args = ", ".join(f"{name}={_literal(value)}" for name, value in call.args.items())
    return f"Thought: {thought}\nAction: {call.tool}({args})"


def _json_action(thought: str, call: Call, tool: ToolSpec) -> str:
    return _json({"type": "tool_call", "tool_name": call.tool, "tool_args": call.args})


def _plain_action(thought: str, call: Call, tool: ToolSpec) -> str:
    return thought


_WRITE_ACTION = {
    "react_json": _react_json,
    "react_text": _react_text,
    "react_brackets": _react_brackets,
    "react_call": _react_call,
    "json": _json_action,
    "plain": _plain_action,
}
_ANSWER_LABEL = {"react_json": "Answer: ", "react_text": "Final Answer: ", "react_brackets": "Final Answer: "}


def _written_answer(say: Say, form: str) -> str:
    if form == "json":
        return _json({"type": "answer", "content": say.answer})
    if form == "react_call":
        return f"Thought: {say.thought}\nAction: Finish[{say.answer}]"
    label = _ANSWER_LABEL.get(form)
    return say.answer if label is None else f"Thought: {say.thought}\n{label}{say.answer}"
