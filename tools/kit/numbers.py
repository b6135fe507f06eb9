"""The calculator's numbers: exact while possible, limited in size, printed as people write them."""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Any

Number = int | float | Fraction | bool

MAX_DIGITS = 4_000
"""Digits of the largest integer (and numerator or denominator); more would be useless to a reader."""
MAX_BITS = int(MAX_DIGITS * math.log2(10))
SHOWN_DECIMALS = 30


class FormulaError(Exception):
    """Why the expression has no value, worded as the second half of a sentence."""


def too_large(digits: float) -> FormulaError:
    """Returns the error for results that must not even be computed."""
    size = f"about {digits:,.0f}" if digits < 1e15 else f"about {digits:.0e}"
    return FormulaError(f"the result would have {size} digits; at most {MAX_DIGITS:,} are allowed")


def limited(value: Any) -> Number:
    """Returns the value, as an int if it is whole; raises if it is not a real number within the size limit."""
    if isinstance(value, complex):
        raise FormulaError("the result is not a real number")
    if isinstance(value, float):
        return _finite(value)
    if isinstance(value, bool):
        return value
    bits = max(value.numerator.bit_length(), value.denominator.bit_length())
    if bits > MAX_BITS:
        raise too_large(bits * math.log10(2))
    return value.numerator if value.denominator == 1 else Fraction(value)


def _finite(value: float) -> float:
    if math.isnan(value):
        raise FormulaError("the result is not defined")
    if math.isinf(value):
        raise FormulaError("the result is too large for floating point")
    return value


def power(base: Number, exponent: Number) -> Any:
    """Returns the power, exact for whole exponents; refuses huge results before computing them."""
    if isinstance(base, float) or isinstance(exponent, float | Fraction):
        return _root(base, exponent) if isinstance(exponent, Fraction) else float(base) ** float(exponent)
    digits = math.log10(max(abs(base.numerator), base.denominator)) * abs(exponent)
    if digits >= MAX_DIGITS:
        raise too_large(math.floor(digits) + 1)
    if base == 0 and exponent < 0:
        raise ZeroDivisionError
    return Fraction(base) ** exponent


def _root(base: Number, exponent: Fraction) -> Any:
    """Returns a root; an exact square root stays exact: 16 ** 0.5 is 4."""
    if exponent == Fraction(1, 2) and not isinstance(base, float) and base >= 0:
        exact = exact_square_root(Fraction(base))
        if exact is not None:
            return exact
    return float(base) ** float(exponent)


def exact_square_root(value: Fraction) -> Fraction | None:
    """Returns the root if it is a fraction; else None."""
    top, bottom = math.isqrt(value.numerator), math.isqrt(value.denominator)
    return Fraction(top, bottom) if top * top == value.numerator and bottom * bottom == value.denominator else None


def show(value: Number) -> str:
    """Writes a number as people do: all digits of integers and of finite decimals, else 15 significant digits."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Fraction):
        return _decimal(value)
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return format(value, ".15g")


def _decimal(value: Fraction) -> str:
    """Writes all decimals if they end soon, else 15 significant digits."""
    exact = Context(prec=MAX_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)
    divided = exact.divide(Decimal(value.numerator), Decimal(value.denominator))
    exponent = divided.normalize(exact).as_tuple().exponent
    if not isinstance(exponent, int) or exponent < -SHOWN_DECIMALS:
        divided = Context(prec=15, Emax=MAX_EMAX, Emin=MIN_EMIN).plus(divided)
    if divided.adjusted() < -7:
        return str(divided.normalize(exact)).lower()
    text = format(divided, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
