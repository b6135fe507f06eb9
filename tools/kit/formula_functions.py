"""The calculator's functions and constants: exact if the result is, refused if it would be huge."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tools.kit.numbers import MAX_DIGITS, FormulaError, Number, exact_square_root, power, too_large

MANY = 1_000
"""The most arguments that a function such as `sum` takes."""

CONSTANTS: dict[str, Number] = {"pi": math.pi, "e": math.e, "tau": math.tau}


def _whole(value: Number, what: str) -> int:
    if isinstance(value, float | Fraction):
        if value != int(value):
            raise FormulaError(f"{what} needs whole numbers")
        return int(value)
    return value


def _square_root(value: Number) -> Number:
    if value < 0:
        raise FormulaError("the square root of a negative number is not a real number")
    exact = None if isinstance(value, float) else exact_square_root(Fraction(value))
    return math.sqrt(value) if exact is None else exact


def _cube_root(value: Number) -> Number:
    root = round(math.cbrt(value))
    return root if root**3 == value else math.cbrt(value)


def _logarithm(value: Number, base: Number = math.e) -> float:
    if value <= 0 or base <= 0 or base == 1:
        raise FormulaError("a logarithm needs a number above 0 and a base above 0 other than 1")
    exact = {2: math.log2, 10: math.log10}.get(int(base)) if base == int(base) else None
    return exact(value) if exact else math.log(value) / math.log(base)


def _factorial(value: Number) -> int:
    n = _whole(value, "factorial")
    if n < 0:
        raise FormulaError("factorial needs a number of 0 or more")
    _check_digits(math.lgamma(n + 1.0))
    return math.factorial(n)


def _combinations(of: Number, chosen: Number) -> int:
    n, k = _whole(of, "comb"), _whole(chosen, "comb")
    if 0 <= k <= n:
        _check_digits(math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0), min(k, n - k))
    return math.comb(n, k)


def _permutations(of: Number, chosen: Number) -> int:
    n, k = _whole(of, "perm"), _whole(chosen, "perm")
    if 0 <= k <= n:
        _check_digits(math.lgamma(n + 1.0) - math.lgamma(n - k + 1.0), k)
    return math.perm(n, k)


def _check_digits(natural_log: float, steps: int = 0) -> None:
    """Refuses by size, and by the number of multiplications, since a log of huge numbers is imprecise."""
    digits = natural_log / math.log(10)
    if digits > MAX_DIGITS:
        raise too_large(digits)
    if steps > 10 * MAX_DIGITS:
        raise FormulaError("the numbers are too large for this function")


def _divisors(function: Callable[..., int], name: str) -> Callable[..., int]:
    return lambda *values: function(*(_whole(value, name) for value in values))


def _round(value: Number, digits: Number = 0) -> Number:
    places = _whole(digits, "round")
    if abs(places) > 100:
        raise FormulaError("round takes at most 100 digits")
    return round(Fraction(value), places) if places else round(Fraction(value))


def _mean(*values: Number) -> Number:
    total = sum(values)
    return total / len(values) if isinstance(total, float) else Fraction(total) / len(values)


def _natural(function: Callable[[float], float]) -> Callable[[Number], float]:
    return lambda value: function(float(value))


def _circular(function: Callable[[float], float]) -> Callable[[Number], float]:
    """Rounds to 15 decimals: the float pi is inexact, and sin(pi) should be 0."""
    return lambda value: round(function(float(value)), 15)


def _sum(*values: Number) -> Any:
    return sum(values)


FUNCTIONS: dict[str, tuple[Callable[..., Any], int, int]] = {
    "abs": (abs, 1, 1),
    "acos": (_natural(math.acos), 1, 1),
    "asin": (_natural(math.asin), 1, 1),
    "atan": (_natural(math.atan), 1, 1),
    "atan2": (lambda y, x: math.atan2(float(y), float(x)), 2, 2),
    "average": (_mean, 1, MANY),
    "cbrt": (_cube_root, 1, 1),
    "ceil": (math.ceil, 1, 1),
    "comb": (_combinations, 2, 2),
    "cos": (_circular(math.cos), 1, 1),
    "cosh": (_natural(math.cosh), 1, 1),
    "degrees": (_natural(math.degrees), 1, 1),
    "exp": (_natural(math.exp), 1, 1),
    "factorial": (_factorial, 1, 1),
    "floor": (math.floor, 1, 1),
    "gcd": (_divisors(math.gcd, "gcd"), 1, MANY),
    "hypot": (lambda *values: _square_root(sum(power(value, 2) for value in values)), 1, MANY),
    "lcm": (_divisors(math.lcm, "lcm"), 1, MANY),
    "ln": (_logarithm, 1, 1),
    "log": (_logarithm, 1, 2),
    "log10": (lambda value: _logarithm(value, 10), 1, 1),
    "log2": (lambda value: _logarithm(value, 2), 1, 1),
    "max": (max, 1, MANY),
    "mean": (_mean, 1, MANY),
    "median": (lambda *values: statistics.median([Fraction(value) for value in values]), 1, MANY),
    "min": (min, 1, MANY),
    "perm": (_permutations, 2, 2),
    "pow": (power, 2, 2),
    "radians": (_natural(math.radians), 1, 1),
    "round": (_round, 1, 2),
    "sin": (_circular(math.sin), 1, 1),
    "sinh": (_natural(math.sinh), 1, 1),
    "sqrt": (_square_root, 1, 1),
    "sum": (_sum, 1, MANY),
    "tan": (_circular(math.tan), 1, 1),
    "tanh": (_natural(math.tanh), 1, 1),
    "trunc": (math.trunc, 1, 1),
}
"""Each with the fewest and the most arguments that it takes."""
