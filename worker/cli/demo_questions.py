"""The demo's questions: in many languages, several with random numbers, and some for each built-in agent."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Record = dict[str, Any]
_Asked = tuple[str, str, str | None]
"""Custom id, question, and the exact answer if there is one."""

_FIXED: tuple[_Asked, ...] = (
    ("brackets-de", "Was ergibt (15 + 7) × 3?", "66"),
    ("weekday-es", "¿Qué día de la semana es hoy y qué hora es?", None),
    ("100-hours-fr", "Quelle date et quelle heure sera-t-il dans 100 heures ?", None),
    ("characters-zh", "我爱编程有几个字符？", "4"),
    ("two-clocks-en", "What is the time in Beijing compared with New York?", None),
    ("weather-ja", "北京の天気はどうですか？その天気に合う観光地も教えてください。", None),
    ("weather-zh", "北京今天天气怎么样？推荐一个适合的景点。", None),
    ("two-clocks-zh", "现在北京时间和纽约时间相差多少？", None),
    ("weather-ru", "Какая погода в Париже и какую достопримечательность посетить?", None),
    ("letters-en", 'How many times does the letter r occur in "strawberry"?', "3"),
    ("root-pt", "Qual é a raiz quadrada de 1764?", "42"),
    ("clock-ko", "지금 서울은 몇 시입니까?", None),
    ("convert-it", "Quando a Tokyo sono le 15:30, che ora è a Singapore?", None),
    ("two-things-en", "What is the weather in Tokyo, and what time is it there?", None),
)


_OF_AGENTS: tuple[tuple[str, _Asked], ...] = (
    ("assistant", ("assistant-product-en", "What is 17 * 23?", "391")),
    ("classic", ("classic-characters-en", 'How many characters are in "stepmill"?', "8")),
    ("minimal", ("minimal-100-hours-en", "What date and time is it 100 hours from now?", None)),
    ("minimal", ("minimal-45-days-en", "What date is 45 days after 2026-03-01?", "2026-04-15")),
    ("travel", ("travel-paris-en", "What is the weather in Paris, and which sight suits it?", None)),
    ("structured", ("structured-quotient-de", "Was ist 1764 geteilt durch 42?", "42")),
    ("native", ("native-root-pt", "Qual é a raiz quadrada de 1764?", "42")),
    ("analyst", ("analyst-file-en", "What does the file stock.txt say?", "4173 bolts")),
)
"""Questions for each built-in agent, to show what it is for."""

FILES = {"stock.txt": "4173 bolts"}
"""Files that the questions expect in a directory that tools may read."""


def demo_questions(seed: int | None = None) -> list[Record]:
    """Returns records with `question`, `custom_id`, and `expected` if the answer is exact. None: random numbers."""
    source = random.Random(seed)
    drawn = [make(source) for make in _DRAWN]
    of_agents = [_record(*asked) | {"agent": agent} for agent, asked in _OF_AGENTS]
    return [*(_record(*asked) for asked in (*_FIXED, *drawn)), *of_agents]


def _record(custom_id: str, question: str, expected: str | None) -> Record:
    record: Record = {"custom_id": custom_id, "question": question}
    if expected is not None:
        record["expected"] = expected
    return record


def _sum_en(source: random.Random) -> _Asked:
    a, b, c = source.randint(10, 99), source.randint(10, 99), source.randint(2, 9)
    return "drawn-sum-en", f"What is ({a} + {b}) * {c}?", str((a + b) * c)


def _chain_en(source: random.Random) -> _Asked:
    a, b, c = source.randint(12, 60), source.randint(3, 9), source.randint(10, 99)
    return "drawn-chain-en", f"Multiply {a} by {b}, then divide the result by {b}, then add {c}.", str(a + c)


def _product_es(source: random.Random) -> _Asked:
    a, b = source.randint(100, 999), source.randint(11, 99)
    return "drawn-product-es", f"¿Cuánto es {a} por {b}?", str(a * b)


def _quotient_fr(source: random.Random) -> _Asked:
    a, b = source.randint(11, 99), source.randint(3, 19)
    return "drawn-quotient-fr", f"Combien font {a * b} divisé par {b} ?", str(a)


def _power_de(source: random.Random) -> _Asked:
    a, b = source.randint(3, 9), source.randint(5, 12)
    return "drawn-power-de", f"Was ist {a} hoch {b}?", str(a**b)


def _difference_ja(source: random.Random) -> _Asked:
    a, b = source.randint(500, 999), source.randint(100, 499)
    return "drawn-difference-ja", f"{a} 引く {b} はいくつですか？", str(a - b)


def _chain_zh(source: random.Random) -> _Asked:
    a, b, c = source.randint(11, 99), source.randint(11, 99), source.randint(2, 9)
    return "drawn-chain-zh", f"{a} 加 {b}，然后乘以 {c}，等于多少？", str((a + b) * c)


def _percent_en(source: random.Random) -> _Asked:
    percent, hundreds = source.randint(2, 98), source.randint(2, 40)
    return "drawn-percent-en", f"What is {percent}% of {hundreds * 100}?", str(percent * hundreds)


def _product_ru(source: random.Random) -> _Asked:
    a, b = source.randint(11, 99), source.randint(11, 99)
    return "drawn-product-ru", f"Сколько будет {a} умножить на {b}?", str(a * b)


def _sum_ko(source: random.Random) -> _Asked:
    a, b = source.randint(100, 999), source.randint(100, 999)
    return "drawn-sum-ko", f"{a} 더하기 {b}는 얼마입니까?", str(a + b)


def _product_it(source: random.Random) -> _Asked:
    a, b = source.randint(11, 99), source.randint(11, 99)
    return "drawn-product-it", f"Quanto fa {a} per {b}?", str(a * b)


def _characters_en(source: random.Random) -> _Asked:
    word = "".join(source.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(source.randint(9, 24)))
    return "drawn-characters-en", f'How many characters are in "{word}"?', str(len(word))


def _hours_de(source: random.Random) -> _Asked:
    return "drawn-hours-de", f"Welcher Wochentag und wie spät ist es in {source.randint(20, 300)} Stunden?", None


def _two_things_en(source: random.Random) -> _Asked:
    a, b = source.randint(11, 99), source.randint(11, 99)
    return "drawn-product-and-clock-en", f"What is {a} × {b}, and what time is it in London?", None


_DRAWN: tuple[Callable[[random.Random], _Asked], ...] = (
    _sum_en,
    _chain_en,
    _product_es,
    _quotient_fr,
    _power_de,
    _difference_ja,
    _chain_zh,
    _percent_en,
    _product_ru,
    _sum_ko,
    _product_it,
    _characters_en,
    _hours_de,
    _two_things_en,
)
