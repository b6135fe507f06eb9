"""Finds the arithmetic expression that a sentence holds, in digits and signs or in the words of several languages."""

from __future__ import annotations

import re
import unicodedata

NUMBER = r"-?\d+(?:\.\d+)?"
_FUNCTIONS = "sqrt|cbrt|sin|cos|tan|asin|acos|atan|log10|log2|log|ln|exp|abs|factorial|floor|ceil|round|gcd|lcm|pow|min|max|degrees|radians"
_BETWEEN = (
    (
        "**",
        "to the power of|raised to the power of|raised to|elevado a la|elevado a|hoch|puissance|elevato a|в степени",
    ),
    (
        "*",
        "multiplied by|times|multiplicado por|por|mal|multipliziert mit|fois|multiplié par|per|moltiplicato per|vezes|умножить на|乘以|乘|かける|곱하기",
    ),
    (
        "/",
        "divided by|over|dividido por|dividido entre|entre|geteilt durch|divisé par|diviso per|diviso|разделить на|делить на|除以|割る|나누기",
    ),
    ("+", "plus|added to|más|mas|und|et|più|mais|плюс|加上|加|足す|たす|더하기"),
    ("-", "minus|less|menos|moins|meno|минус|减去|减|引く|ひく|빼기"),
    ("%", "modulo|mod"),
)
_ROOT = (
    r"(?:square root of|raíz cuadrada de|Quadratwurzel (?:aus|von)|Wurzel (?:aus|von)|racine carrée de|radice quadrata di|raiz quadrada de"
    r"|квадратный корень из)"
)
_REWRITES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), written)
    for pattern, written in (
        (rf"{_ROOT}\s*({NUMBER})", r"sqrt(\1)"),
        (rf"({NUMBER})\s*(?:的平方根|の平方根|의 제곱근)", r"sqrt(\1)"),
        (rf"√\s*\(?({NUMBER})\)?", r"sqrt(\1)"),
        (
            rf"({NUMBER})\s*(?:%|percent|per cent|Prozent|por ciento|pour cent|per cento|por cento|процентов)\s*(?:of|de|von|di|от)\s*({NUMBER})",
            r"\1 / 100 * \2",
        ),
        (rf"({NUMBER})\s*的\s*({NUMBER})\s*%", r"\1 * \2 / 100"),
        (rf"({NUMBER})\s*の\s*({NUMBER})\s*(?:%|パーセント)", r"\1 * \2 / 100"),
        (rf"({NUMBER})\s*(?:的|の)\s*({NUMBER})\s*(?:次方|乗)", r"\1 ** \2"),
        (rf"({NUMBER})\s*(?:squared|al cuadrado|zum Quadrat|au carré)", r"\1 ** 2"),
        (rf"({NUMBER})\s*cubed", r"\1 ** 3"),
        (rf"factorial of\s*({NUMBER})|({NUMBER})!(?!=)", r"factorial(\1\2)"),
        (rf"({NUMBER})\s*的阶乘", r"factorial(\1)"),
        (rf"\bmultiply\s+({NUMBER})\s+(?:by|with)\s+({NUMBER})", r"\1 * \2"),
        (rf"\bdivide\s+({NUMBER})\s+by\s+({NUMBER})", r"\1 / \2"),
        (rf"\badd\s+({NUMBER})\s+(?:and|to)\s+({NUMBER})", r"\1 + \2"),
        (rf"\bsubtract\s+({NUMBER})\s+from\s+({NUMBER})", r"\2 - \1"),
        (rf"\bsum of\s+({NUMBER})\s+and\s+({NUMBER})", r"\1 + \2"),
        (rf"\bproduct of\s+({NUMBER})\s+and\s+({NUMBER})", r"\1 * \2"),
    )
)
_SIGNS = str.maketrans({"×": "*", "✕": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "^": "\x00"})
_SPAN = re.compile(
    rf"(?:\b(?:{_FUNCTIONS})\s*(?=\()|\d+(?:\.\d+)?(?:e[+-]?\d+)?|\*\*|//|[-+*/%(),]|\bpi\b|\s)+", re.IGNORECASE
)
_WORKS = re.compile(
    rf"\d\s*\)*\s*(?:\*\*|//|[-+*/%])\s*[-+]?\s*\(*\s*(?:\d|pi\b|(?:{_FUNCTIONS})\s*\()|\b(?:{_FUNCTIONS})\s*\(.*\d.*\)|\bpi\b\s*[-+*/]|[-+*/]\s*\bpi\b"
)
_DATE = re.compile(r"\b\d{4}-\d{1,2}-\d{1,2}\b|\b\d{1,2}:\d{2}\b")


def normalised(text: str) -> str:
    """The text with full-width signs, operator words and groups of thousands written as a calculator takes them."""
    text = unicodedata.normalize("NFKC", _DATE.sub(" ; ", text)).translate(_SIGNS).replace("\x00", "**")
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    for pattern, written in _REWRITES:
        text = pattern.sub(written, text)
    for sign, words in _BETWEEN:
        for word in sorted(words.split("|"), key=len, reverse=True):
            text = re.sub(
                rf"(?<=[\d)])\s*(?<!\w\s){re.escape(word)}\s*(?=-?[\d(]|sqrt)"
                if not word[0].isascii()
                else rf"(?<=[\d)])\s+{re.escape(word)}\s+(?=-?[\d(]|sqrt)",
                f" {sign} ",
                text,
                flags=re.IGNORECASE,
            )
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
