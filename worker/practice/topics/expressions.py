"""Finds the arithmetic expression in a sentence, in digits and signs or in the words of several languages."""

from __future__ import annotations

import re
import unicodedata

NUMBER = r"-?\d+(?:\.\d+)?"
_BETWEEN_NUMBERS = {
    "**": "to the power of|hoch",
    "/": "divided by|geteilt durch|divisé par",
    "*": "times|por|per|умножить на|乘以",
    "+": "plus|加|더하기",
    "-": "minus|引く",
}
_REWRITES = [
    (rf"multiply ({NUMBER}) by ({NUMBER})", r"\1 * \2"),
    (rf"(?:square root of|raiz quadrada de) ({NUMBER})", r"sqrt(\1)"),
    (rf"({NUMBER})\s*% of ({NUMBER})", r"\1 / 100 * \2"),
    *((rf"(?<=\d),?\s*(?:{words})\s*(?=-?\d)", f" {sign} ") for sign, words in _BETWEEN_NUMBERS.items()),
]
_SIGNS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "^": "**"})
_SPAN = re.compile(r"(?:sqrt|[-+*/%().\d ])+")
_OPERATES = re.compile(r"\d[) ]*[-+*/%]+[( ]*-?(?:\d|sqrt)|sqrt\(\d")


def normalised(text: str) -> str:
    """Returns the text with its signs, operator words and grouped thousands in the calculator's notation."""
    text = unicodedata.normalize("NFKC", text).translate(_SIGNS)
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    for pattern, written in _REWRITES:
        text = re.sub(pattern, written, text, flags=re.IGNORECASE)
    return text


def expression_in(text: str) -> str | None:
    """Returns the longest expression in a normalised text; None if there is none."""
    spans = (span.strip(" .*/%+").rstrip("-( ") for span in _SPAN.findall(text))
    return max((span for span in spans if _OPERATES.search(span)), key=len, default=None)
