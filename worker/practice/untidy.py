"""Makes a tidy reply untidy, in ways seen from models: one function per kind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_LABEL = re.compile(r"^(Thought|Action Input|Action|Final Answer|Answer)(:)", re.MULTILINE)
_CHINESE = {
    "Thought": "思考",
    "Action": "行动",
    "Action Input": "行动输入",
    "Final Answer": "最终答案",
    "Answer": "答案",
}
_ZERO_WIDTH = "\u200b"


def _labels(change: Callable[[str, str], str]) -> Callable[[str], str]:
    return lambda text: _LABEL.sub(lambda match: change(match[1], match[2]), text)


def _fenced(text: str) -> str:
    if text.lstrip().startswith("{"):
        return f"```json\n{text}\n```"
    return re.sub(r"^(Action Input: )(\{.*\})\s*$", r"\1\n```json\n\2\n```", text, flags=re.MULTILINE)


def _in_object(change: Callable[[str], str]) -> Callable[[str], str]:
    """Applies the change to the JSON object of an action, if the form has one."""

    def untidy(text: str) -> str:
        if text.lstrip().startswith("{"):
            return change(text)
        return re.sub(r"(?<=^Action Input: )\{.*\}(?=\s*$)", lambda match: change(match[0]), text, flags=re.MULTILINE)

    return untidy


def _single_quotes(written: str) -> str:
    try:
        return repr(json.loads(written))
    except ValueError:
        return written


def _invented(text: str) -> str:
    if text.lstrip().startswith("{"):
        return f'{text}\n{{"type": "tool_result", "content": "42"}}\n{{"type": "answer", "content": "42"}}'
    if "Answer:" in text or "Finish[" in text:
        return f"{text}\n\nQuestion: And what is 1 + 1?\nThought: Easy.\nAnswer: 2"
    return f"{text}\nObservation: 42\nThought: I know it.\nFinal Answer: 42"


_WAYS: dict[str, Callable[[str], str]] = {
    "fullwidth_colon": _labels(lambda label, colon: f"{label}："),
    "bold": _labels(lambda label, colon: f"**{label}:**"),
    "numbered": _labels(lambda label, colon: f"{label} 1:"),
    "lower_case": _labels(lambda label, colon: f"{label.lower()}:"),
    "indented": _labels(lambda label, colon: f"    {label}:"),
    "chinese": _labels(lambda label, colon: f"{_CHINESE[label]}："),
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "zero_width": lambda text: _ZERO_WIDTH + _LABEL.sub(rf"\1{_ZERO_WIDTH}\2", text),
    "special_tokens": lambda text: f"{text}<|im_end|>",
    "think": lambda text: f"<think>Perhaps I should write\nAction: nothing\nAnswer: 41\nNo.</think>\n{text}",
    "invented_observation": _invented,
    "fenced_json": _fenced,
    "trailing_comma": _in_object(lambda written: re.sub(r"\}\s*$", ",}", written)),
    "single_quotes": _in_object(_single_quotes),
    "prose": lambda text: "Let me think about how this could be found out.",
    "empty": lambda text: "",
    "cut": lambda text: text[: max(1, len(text) // 3)],
}
KINDS = tuple(_WAYS)


# What can be untidy if calls are in separate fields: the text beside them, and the arguments.
_NATIVE_TEXT = ("crlf", "zero_width", "special_tokens", "think", "empty")
_NATIVE_ARGUMENTS = ("trailing_comma", "single_quotes", "fenced_json")


def untidy_native(kind: str, text: str, calls: list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
    """Returns a native reply's text and calls, made untidy as `kind` says. An empty reply has no calls either."""
    if kind in _NATIVE_ARGUMENTS:
        return text, [_with_arguments(call, _WAYS[kind](call["function"]["arguments"])) for call in calls]
    return (_WAYS[kind](text) if kind in _NATIVE_TEXT else text), [] if kind == "empty" else calls


def _with_arguments(call: dict[str, Any], arguments: str) -> dict[str, Any]:
    return {**call, "function": {**call["function"], "arguments": arguments}}


def untidy(kind: str, text: str) -> str:
    """Returns the reply made untidy as `kind` says; unchanged if that kind has nothing to change."""
    return _WAYS[kind](text)
