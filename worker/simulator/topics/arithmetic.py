"""Arithmetic: finds the expression in the words and has the calculator work it out, step by step where chained."""

from __future__ import annotations

import re

from worker.simulator.records import Call, Observation, Plan
from worker.simulator.topics.asking import Asking, Question, ask
from worker.simulator.topics.expressions import NUMBER as _N
from worker.simulator.topics.expressions import expression_in, normalised
from worker.simulator.topics.words import any_of, joined

_THEN = re.compile(
    r"[,;]?\s*\b"
    + joined(
        "and then|then|after that|afterwards",
        "y luego|luego|y después|después",
        "und dann|dann|danach|anschließend",
        "et puis|puis|ensuite|e poi|poi|dopo|e depois|depois",
        "а затем|затем|потом",
    )
    + r"\b|[，,、]?"
    + joined("然后|再|接着|次に|それから|その後|그런 다음|그리고"),
    re.IGNORECASE,
)
_OPERATIONS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "/",
        any_of(
            rf"(?:divi\w*|teil\w*|geteilt|раздели\w*|over).*?({_N})",
            rf"durch\s*({_N})|除以\s*({_N})|({_N})\s*(?:で割|로 나)",
        ),
    ),
    ("*", any_of(rf"(?:multipl\w*|times|умнож\w*)\D*?({_N})|乘以?\s*({_N})|({_N})\s*(?:を掛け|をかけ|倍|를 곱|을 곱)")),
    (
        "-",
        any_of(
            rf"(?:subtract\w*|minus|less|take away|rest\w*|subtra\w*|soustra\w*|retire\w*|zieh\w*)\D*?({_N})",
            rf"(?:sottra\w*|вычт\w*)\D*?({_N})|减去?\s*({_N})|({_N})\s*(?:を引|를 빼|을 빼)",
        ),
    ),
    (
        "+",
        any_of(
            rf"(?:add\w*|plus|sum\w*|ajout\w*|addier\w*|aggiung\w*|som\w*|adicion\w*|прибав\w*)\D*?({_N})",
            rf"加上?\s*({_N})|({_N})\s*(?:を足|を加|를 더|을 더)",
        ),
    ),
)


def plan(question: Question) -> Plan | None:
    """A plan where the text holds an expression and there is a tool that can work it out."""
    first, *later = _THEN.split(normalised(question.text))
    expression = expression_in(first)
    operations = [_operation(part) for part in later]
    if expression is None or None in operations:
        expression, operations = expression_in(normalised(question.text)), []
    if expression is None or not (question.has("calculator") or question.has("python_executor")):
        return None
    return _work_out(question, expression, [op for op in operations if op])


def _work_out(question: Question, expression: str, operations: list[tuple[str, str]]) -> Plan:
    observed = yield from _calculate(question, expression)
    for operator, operand in operations:
        if observed.failed:
            break
        value = value_of(observed)
        left = f"({value})" if value.startswith("-") else value
        observed = yield from _calculate(question, f"{left} {operator} {operand}")
    if observed.failed:
        return question.say("unknown")
    return question.answer(value_of(observed))


def _calculate(question: Question, expression: str) -> Asking:
    """The calculator, or else a program; where the first fails, the other."""
    calls = [call for way in (_by_calculator, _by_python) if (call := way(question, expression))]
    return (yield from ask(question, calls[0], calls[-1]))


def _by_calculator(question: Question, expression: str) -> Call | None:
    return question.text_call("calculator", expression, "expression") if question.has("calculator") else None


def _by_python(question: Question, expression: str) -> Call | None:
    program = f"from math import *\nprint({expression})"
    return question.text_call("python_executor", program, "code") if question.has("python_executor") else None


def value_of(observed: Observation) -> str:
    """The result within an observation: what follows the last equals sign, or its last number, or all of it."""
    text = observed.text.strip()
    tail = text.rpartition("=")[2].strip()
    numbers = re.findall(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", tail)
    return numbers[-1] if numbers else text


def _operation(text: str) -> tuple[str, str] | None:
    for operator, pattern in _OPERATIONS:
        if match := pattern.search(text):
            return operator, next(group for group in match.groups() if group)
    return None
