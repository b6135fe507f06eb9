"""Finds the arithmetic expression that a sentence holds, in digits and signs or in the words of several languages."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from worker.simulator.topics.words import joined

NUMBER = r"-?\d+(?:\.\d+)?"
_FUNCTIONS = (
    "sqrt|cbrt|sin|cos|tan|asin|acos|atan|log10|log2|log|ln|exp|abs|factorial|floor|ceil|round|gcd|lcm|comb|perm"
    "|hypot|pow|min|max|sum|mean|median|degrees|radians"
)
# Words that stand between two numbers. Longer ones go first where one begins or ends another.
_BETWEEN = (
    (
        "**",
        "raised to the power of|to the power of|raised to|elevado a la|elevado a|hoch|puissance|elevato a|в степени",
    ),
    ("/", "divided by|over|dividido por|dividido entre|entre|geteilt durch|divisé par|diviso per|diviso"),
    ("/", "разделить на|делить на|除以|割る|나누기"),
    ("*", "multiplied by|times|multiplicado por|por|multipliziert mit|mal|multiplié par|fois|moltiplicato per|per"),
    ("*", "vezes|умножить на|乘以|乘|かける|곱하기"),
    ("+", "plus|added to|más|mas|und|et|più|mais|плюс|加上|加|足す|たす|더하기"),
    ("-", "minus|less|menos|moins|meno|минус|减去|减|引く|ひく|빼기"),
    ("%", "modulo|mod"),
)
_ROOT = joined(
    "square root of|raíz cuadrada de|Quadratwurzel (?:aus|von)|Wurzel (?:aus|von)",
    "racine carrée de|radice quadrata di|raiz quadrada de|квадратный корень из",
)
_PERCENT = joined("%|percent|per cent|Prozent|por ciento|pour cent|per cento|por cento|процентов")
_REWRITES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), written)
    for pattern, written in (
        (rf"{_ROOT}\s*({NUMBER})", r"sqrt(\1)"),
        (rf"({NUMBER})\s*(?:的平方根|の平方根|의 제곱근)", r"sqrt(\1)"),
        (rf"√\s*\(?({NUMBER})\)?", r"sqrt(\1)"),
        (rf"({NUMBER})\s*{_PERCENT}\s*(?:of|de|von|di|от)\s*({NUMBER})", r"\1 / 100 * \2"),
        (rf"({NUMBER})\s*的\s*({NUMBER})\s*%", r"\1 * \2 / 100"),
        (rf"({NUMBER})\s*の\s*({NUMBER})\s*(?:%|パーセント)", r"\1 * \2 / 100"),
        (rf"({NUMBER})\s*(?:的|の)\s*({NUMBER})\s*(?:次方|乗)", r"\1 ** \2"),
        (rf"({NUMBER})\s*(?:squared|al cuadrado|zum Quadrat|au carré)", r"\1 ** 2"),
        (rf"({NUMBER})\s*cubed", r"\1 ** 3"),
        (rf"factorial of\s*({NUMBER})", r"factorial(\1)"),
        (rf"({NUMBER})(?:!(?!=)|\s*的阶乘)", r"factorial(\1)"),
        (rf"\bmultiply\s+({NUMBER})\s+(?:by|with)\s+({NUMBER})", r"\1 * \2"),
        (rf"\bdivide\s+({NUMBER})\s+by\s+({NUMBER})", r"\1 / \2"),
        (rf"\badd\s+({NUMBER})\s+(?:and|to)\s+({NUMBER})", r"\1 + \2"),
        (rf"\bsubtract\s+({NUMBER})\s+from\s+({NUMBER})", r"\2 - \1"),
        (rf"\bsum of\s+({NUMBER})\s+and\s+({NUMBER})", r"\1 + \2"),
        (rf"\bproduct of\s+({NUMBER})\s+and\s+({NUMBER})", r"\1 * \2"),
        *((rf"(?<=[\d)])\s*(?:{words})\s*(?=-?[\d(]|sqrt)", f" {sign} ") for sign, words in _BETWEEN),
    )
)
_SIGNS = str.maketrans({"×": "*", "✕": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "^": "**"})
_SPAN = re.compile(
    rf"(?:\b(?:{_FUNCTIONS})\s*(?=\()|\d+(?:\.\d+)?(?:e[+-]?\d+)?|\*\*|//|[-+*/%(),]|\bpi\b|\s)+", re.IGNORECASE
)
_WORKS = re.compile(
    rf"\d\s*\)*\s*(?:\*\*|//|[-+*/%])\s*[-+]?\s*\(*\s*(?:\d|pi\b|(?:{_FUNCTIONS})\s*\()"
    rf"|\b(?:{_FUNCTIONS})\s*\(.*\d.*\)|\bpi\b\s*[-+*/]|[-+*/]\s*\bpi\b"
)
_DATE = re.compile(r"\b\d{4}-\d{1,2}-\d{1,2}\b|\b\d{1,2}:\d{2}\b")


@lru_cache(maxsize=1024)
def normalised(text: str) -> str:
    """The text with full-width signs, operator words and groups of thousands written as a calculator takes them."""
    text = unicodedata.normalize("NFKC", _DATE.sub(" ; ", text)).translate(_SIGNS)
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    for pattern, written in _REWRITES:
        text = pattern.sub(written, text)
    return text


def expression_in(text: str) -> str | None:
    """The longest expression of a normalised text; None where it has none."""
    found = [span for match in _SPAN.finditer(text) if (span := _tidy(match[0])) and _WORKS.search(span)]
    return max(found, key=len) if found else None


def _tidy(span: str) -> str:
    """Without what belongs to the sentence: commas at the ends, brackets that have no partner."""
    text = re.sub(r"\s+", " ", span).strip(" ,*/%+").rstrip("- ,")
    while text.count("(") > text.count(")") and text.startswith("("):
        text = text[1:].strip(" ,")
    while text.count(")") > text.count("(") and text.endswith(")"):
        text = text[:-1].strip(" ,")
    return text if text.count("(") == text.count(")") else ""
