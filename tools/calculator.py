"""Arithmetic for a model: the formula is parsed into a tree of known operations and never run as code."""

from __future__ import annotations

from tools.base import ToolError, tool
from tools.kit.formula import FormulaError, evaluate, show
from tools.kit.formula_text import without_question


@tool(timeout_s=10.0, idempotent=True)
def calculator(expression: str) -> str:
    """Computes an arithmetic expression exactly. Use it for every calculation instead of computing in your head.

    Knows + - * / // % ** and parentheses, comparisons, percentages ("15% of 80"), the constants pi, e and tau, and the
    functions abs, round, floor, ceil, sqrt, cbrt, exp, log, ln, log10, log2, sin, cos, tan, asin, acos, atan, degrees,
    radians, factorial, comb, perm, gcd, lcm, min, max, sum, mean, median and hypot.

    Args:
        expression: One expression, for example "(15 + 7) * 3" or "round(sqrt(2) * 100, 2)".

    Returns:
        The expression and its value.
    """
    try:
        return f"{without_question(expression)} = {show(evaluate(expression))}"
    except FormulaError as error:
        raise ToolError(f"Cannot compute this: {error}") from error
