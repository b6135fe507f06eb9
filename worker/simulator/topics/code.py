"""Questions that ask for Python: a small program written from the words, run by the tool."""

from __future__ import annotations

import re

from worker.simulator.records import Plan
from worker.simulator.topics.asking import Question, ask
from worker.simulator.topics.expressions import expression_in, normalised
from worker.simulator.topics.words import any_of

_ASKED = any_of(r"python|\bprogram\b|write (?:some )?code|with code", r"用代码|コード|código|Programm\b")
_FENCED = re.compile(r"```(?:python)?\s*\n(.*?)\n?```", re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")
_NUMBER = r"-?\d+(?:\.\d+)?"
_LIST = re.compile(rf"\[?\s*({_NUMBER}(?:\s*(?:,|，|、|and|y|und|et|和)\s*{_NUMBER}){{2,}})\s*\]?")
_FIRST = r"(?:first|primer[oa]?s|ersten|premiers|前|最初の)\s*(\d+)|(\d+)\s*(?:first|ersten|premiers|primeros)"
_UP_TO = r"1\s*(?:to|through|a|bis|à|到|から)\s*(\d+)"
_BELOW = "(?:below|under|less than|up to|menores que|unter|inférieurs à|以下|小于|以内|未満)"
_WITH_NUMBER: tuple[tuple[re.Pattern[str], re.Pattern[str], str], ...] = tuple(
    (any_of(about), re.compile(number, re.IGNORECASE), program)
    for about, number, program in (
        (
            "fibonacci|斐波那契|フィボナッチ",
            _FIRST,
            "a, b = 0, 1\nfor _ in range({n}):\n    print(a, end=' ')\n    a, b = b, a + b",
        ),
        (
            "primes|prime numbers|primos|primzahl|nombres premiers|素数|质数",
            rf"{_BELOW}\D*(\d+)|(\d+)\s*(?:以下|以内|未満)",
            "primes = [n for n in range(2, {n}) if all(n % d for d in range(2, int(n ** 0.5) + 1))]\nprint(primes)",
        ),
        ("squares|cuadrados|Quadrate|carrés|平方和|二乗", _UP_TO, "print(sum(n * n for n in range(1, {n} + 1)))"),
        (r"\bsum\b|suma|Summe|somme|求和|之和|合計", _UP_TO, "print(sum(range(1, {n} + 1)))"),
        (
            "factorial|Fakultät|factorielle|阶乘|階乗",
            r"(\d+)",
            "import math\nprint(math.factorial({n}))",
        ),
    )
)
_OF_LIST = tuple(
    (any_of(about), program)
    for about, program in (
        (
            "standard deviation|stdev|标准差|標準偏差|desviación|Standardabweichung|écart",
            "import statistics\nprint(statistics.stdev({values}))",
        ),
        ("median|中位数|中央値|mediana|médiane", "import statistics\nprint(statistics.median({values}))"),
        (
            r"mean|average|平均|media\b|promedio|Mittelwert|Durchschnitt|moyenne",
            "import statistics\nprint(statistics.mean({values}))",
        ),
        ("sort|排序|並べ|orden|trie", "print(sorted({values}))"),
        ("max|largest|biggest|最大|mayor|größte", "print(max({values}))"),
        ("sum|总和|合計|suma|Summe|somme", "print(sum({values}))"),
    )
)
_REVERSE = re.compile(r"revers\w*.*?[\"“'‘「](.+?)[\"”'’」]", re.IGNORECASE | re.DOTALL)


def plan(question: Question) -> Plan | None:
    """A plan where Python is asked for and the words say what the program should do."""
    if not question.has("python_executor") or not _ASKED.search(question.text):
        return None
    program = program_for(question.text)
    return _run(question, program) if program else None


def program_for(text: str) -> str | None:
    """The program; one given in the question is taken as it is."""
    if match := _FENCED.search(text) or _INLINE.search(text):
        return match[1]
    for about, number, program in _WITH_NUMBER:
        if about.search(text) and (match := number.search(text)):
            return program.replace("{n}", next(group for group in match.groups() if group))
    if match := _LIST.search(text):
        values = "[" + ", ".join(re.findall(_NUMBER, match[1])) + "]"
        for about, program in _OF_LIST:
            if about.search(text):
                return program.replace("{values}", values)
    if match := _REVERSE.search(text):
        return f"print({match[1]!r}[::-1])"
    expression = expression_in(normalised(text))
    return f"from math import *\nprint({expression})" if expression else None


def _run(question: Question, program: str) -> Plan:
    call = question.text_call("python_executor", program, "code", "program")
    observed = yield from ask(question, call, call)
    return question.say("unknown") if observed.failed else question.answer(observed.text.strip())
