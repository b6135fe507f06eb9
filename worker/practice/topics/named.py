"""Questions that spell out a tool call, such as `Use counter(n=3)`, so that any tool can be used, a user's own too."""

from __future__ import annotations

import ast
import re
from itertools import islice

from worker.practice.records import Call, Observation, Plan
from worker.practice.topics.asking import Question, ask_all

_CALL = re.compile(r"\b([A-Za-z_]\w*)\(")
_TRIED_ENDS = 20
_IN_TURN = re.compile(r"\bin turn\b|\bone after (?:the other|another)\b|\bthen\b", re.IGNORECASE)


def plan(question: Question) -> Plan | None:
    """Returns a plan if the text contains `tool(name=value, …)` of listed tools: at once, or in turn if it says so."""
    calls = tuple(calls_in(question))
    return _carry_out(question, calls) if calls else None


def calls_in(question: Question) -> list[Call]:
    """Returns the calls that the text spells out, in order."""
    return [
        call
        for match in _CALL.finditer(question.text)
        if match[1] in question.tools and (call := _read(question, match[1], question.text[match.start() :]))
    ]


def _read(question: Question, tool: str, text: str) -> Call | None:
    ends = (index + 1 for index, char in enumerate(text) if char == ")")
    for end in islice(ends, _TRIED_ENDS):
        try:
            node = ast.parse(text[:end], mode="eval").body
            if not isinstance(node, ast.Call):
                return None
            names = [param.name for param in question.tools[tool].params]
            args = {names[i] if i < len(names) else f"arg{i}": ast.literal_eval(arg) for i, arg in enumerate(node.args)}
            args |= {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords if keyword.arg}
            return Call(tool, args)
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            continue  # the bracket was part of an argument: try up to the next one
    return None


def _carry_out(question: Question, calls: tuple[Call, ...]) -> Plan:
    observed: list[Observation] = []
    for group in [(call,) for call in calls] if _IN_TURN.search(question.text) else [calls]:
        observed += yield from ask_all(question, group)
    good = [one.text for one in observed if not one.failed]
    return question.answer("\n".join(good)) if good else question.say("unknown")
