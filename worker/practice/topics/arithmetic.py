"""Arithmetic: finds the expression in the words and lets the calculator evaluate it, step by step if chained."""

from __future__ import annotations

import re

from worker.practice.records import Observation, Plan
from worker.practice.topics.asking import Question, ask, numbers_in
from worker.practice.topics.expressions import NUMBER, expression_in, normalised

_THEN = re.compile(r"\bthen\b|然后", re.IGNORECASE)
_GOES_ON = tuple(
    (sign, re.compile(rf"(?:{words})\D*?({NUMBER})", re.IGNORECASE))
    for sign, words in (("*", "multiply|乘以"), ("/", "divide|除以"), ("+", "add|加"), ("-", "subtract|减"))
)


def plan(question: Question) -> Plan | None:
    """Returns a plan if the text contains an expression and a calculator is listed."""
    if not question.has("calculator"):
        return None
    text = normalised(question.text)
    first, *later = _THEN.split(text)
    operations = [operation for part in later if (operation := _operation(part))]
    if len(operations) < len(later):
        first, operations = text, []
    expression = expression_in(first)
    return _work_out(question, expression, operations) if expression else None


def _operation(text: str) -> str | None:
    """Returns ` * 7` for `multiply the result by 7`."""
    return next((f" {sign} {match[1]}" for sign, pattern in _GOES_ON if (match := pattern.search(text))), None)


def _work_out(question: Question, expression: str, operations: list[str]) -> Plan:
    observed = yield from ask(question, question.text_call("calculator", expression, "expression"))
    for operation in operations:
        if observed.failed:
            break
        value = _value(observed)
        left = f"({value})" if value.startswith("-") else value
        observed = yield from ask(question, question.text_call("calculator", left + operation, "expression"))
    return question.say("unknown") if observed.failed else question.answer(_value(observed))


def _value(observed: Observation) -> str:
    """Returns the last number after the last equals sign; the whole text if there is none."""
    numbers = numbers_in(observed.text.rpartition("=")[2])
    return numbers[-1] if numbers else observed.text
