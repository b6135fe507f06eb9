"""Converts the ways in which people and models write arithmetic into a form that Python's parser reads."""

from __future__ import annotations

import re

from tools.kit.numbers import FormulaError

_SIGNS = str.maketrans(
    {
        "×": "*",
        "·": "*",
        "✕": "*",
        "÷": "/",
        "−": "-",
        "–": "-",
        "（": "(",
        "）": ")",
        "，": ",",
        "^": "\x00",
        "：": ":",
    }
    | {"＋": "+", "－": "-", "＊": "*", "／": "/", "＝": "=", "％": "%", "π": " pi ", "²": "**2", "³": "**3"}
    | {chr(0xFF10 + digit): str(digit) for digit in range(10)}
)
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%(?=\s*(?:of\b|$|[)*/,]))")
_TWO_READINGS = re.compile(r"[\w)]\s*[+-]\s*\d+(?:\.\d+)?\s*%\s*(?:$|\))")
_FACTORIAL = re.compile(r"\b(\d+)!(?!=)")
_OF = re.compile(r"\bof\b")
_ROOT = re.compile(r"√\s*(\d+(?:\.\d+)?|(?=\())")
_NUMBER = re.compile(r"(?<![\w.])(?:\d+\.\d*|\.\d+)(?![\w.])")


def tidy(text: str) -> str:
    """Converts typographic signs (× ÷ − √), `^`, `15% of 80`, `1,234,567` without functions, a final `=` or `= ?`."""
    text = without_question(text).translate(_SIGNS).replace("\x00", "**")
    if not re.search(r"[A-Za-z]\w*\s*\(|\[", text):
        text = _THOUSANDS.sub(lambda match: match[0].replace(",", ""), text)
    if _TWO_READINGS.search(text):
        raise FormulaError("a percentage after + or - has two readings; write 100 * (1 - 20/100) or 100 - 20/100")
    text = _FACTORIAL.sub(r"factorial(\1)", text)
    text = _PERCENT.sub(r"(\1/100)", text)
    text = _OF.sub("*", text)
    text = _ROOT.sub(lambda match: f"sqrt({match[1]})" if match[1] else "sqrt", text)
    return _NUMBER.sub(lambda match: f"'decimal:{match[0]}'", text)


def without_question(text: str) -> str:
    """Returns a formula without the `=` or `= ?` and the quoting that models put around it."""
    return re.sub(r"\s*[=＝]\s*[?？]?\s*$", "", text.strip().strip("`$").strip())
