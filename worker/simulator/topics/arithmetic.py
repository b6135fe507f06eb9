"""Arithmetic: finds the expression in the words and has the calculator work it out, step by step where it is chained."""

from __future__ import annotations

import re
from collections.abc import Callable

from worker.simulator.records import Call, Observation, Plan
from worker.simulator.topics.asking import Question, ask
from worker.simulator.topics.expressions import NUMBER as _N
from worker.simulator.topics.expressions import expression_in, normalised

_THEN = re.compile(
    r"[,;]?\s*\b(?:and then|then|after that|afterwards|luego|después|dann|danach|anschließend|puis|ensuite|poi|dopo|depois|затем|потом)\b"
    r"|[，,、]?(?:然后|再|接着|次に|それから|その後|그런 다음|그리고)",
    re.IGNORECASE,
)
_OPERATIONS: tuple[tuple[str, str], ...] = (
    (
        "/",
        rf"(?:divi\w*|deel\w*|teil\w*|geteilt|раздели\w*).*?({_N})|durch\s*({_N})|除以\s*({_N})|({_N})\s*(?:で割|로 나)",
    ),
    ("*", rf"(?:multipl\w*|times|умнож\w*)\D*?({_N})|乘以?\s*({_N})|({_N})\s*(?:を掛け|をかけ|倍|를 곱|을 곱)"),
    (
        "-",
        rf"(?:subtract\w*|minus|rest\w*|subtra\w*|soustra\w*|retire\w*|zieh\w*|sottra\w*|вычт\w*|less)\D*?({_N})|减去?\s*({_N})|({_N})\s*(?:を引|를 빼|을 빼)",
    ),
    (
        "+",
        rf"(?:add\w*|plus|sum\w*|ajout\w*|addier\w*|aggiung\w*|som\w*|adicion\w*|прибав\w*)\D*?({_N})|加上?\s*({_N})|({_N})\s*(?:を足|を加|를 더|을 더)",
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
        observed = yield from _calculate(
            question, f"{f'({value})' if value.startswith('-') else value} {operator} {operand}"
        )
    if observed.failed:
        return question.say("unknown")
    return question.answer(value_of(observed))


def _calculate(question: Question, expression: str):  # type: ignore[no-untyped-def]
    ways = [way(question, expression) for way in _WAYS]
    usable = [call for call in ways if question.has(call.tool)]
    return (yield from ask(question, usable[0], usable[1] if len(usable) > 1 else None))


def _by_calculator(question: Question, expression: str) -> Call:
    names = ("expression",)
    return (
        question.text_call("calculator", expression, *names) if question.has("calculator") else Call("calculator", {})
    )


def _by_python(question: Question, expression: str) -> Call:
    program = f"from math import *\nprint({expression})"
    return (
        question.text_call("python_executor", program, "code")
        if question.has("python_executor")
        else Call("python_executor", {})
    )


_WAYS: tuple[Callable[[Question, str], Call], ...] = (_by_calculator, _by_python)


def value_of(observed: Observation) -> str:
    """The result within an observation: what follows the last equals sign, or its last number, or all of it."""
    text = observed.text.strip()
    tail = text.rpartition("=")[2].strip()
    numbers = re.findall(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", tail)
    return numbers[-1] if numbers else text


def _operation(text: str) -> tuple[str, str] | None:
    for operator, pattern in _OPERATIONS:
        if match := re.search(pattern, text, re.IGNORECASE):
            return operator, next(group for group in match.groups() if group)
    return None
