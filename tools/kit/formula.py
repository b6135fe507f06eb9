"""Evaluates arithmetic exactly and in bounded time: integers and fractions stay exact."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tools.kit.formula_functions import CONSTANTS, FUNCTIONS
from tools.kit.formula_text import tidy
from tools.kit.numbers import FormulaError, Number, limited, power, show

__all__ = ["FormulaError", "evaluate", "show"]

MAX_CHARS = 2_000
MAX_NODES = 500

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a / b if isinstance(a, float) or isinstance(b, float) else Fraction(a) / Fraction(b),
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: power,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def evaluate(expression: str) -> Number:
    """Returns the value of one expression, quickly. Raises FormulaError with a reason for the reader."""
    if len(expression) > MAX_CHARS:
        raise FormulaError(f"the expression has {len(expression):,} characters; at most {MAX_CHARS:,} are allowed")
    tree = _parse(tidy(expression))
    if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
        raise FormulaError("the expression is too long; compute it in parts")
    try:
        return _value(tree.body)
    except ZeroDivisionError:
        raise FormulaError("it divides by zero") from None
    except OverflowError:
        raise FormulaError("a number is too large for floating point") from None
    except (ValueError, TypeError) as error:
        raise FormulaError(f"{error}") from None


def _parse(text: str) -> ast.Expression:
    if not text:
        raise FormulaError('the expression is empty; write one such as "2 * (3 + 4)"')
    try:
        return ast.parse(text, mode="eval")
    except SyntaxError as error:
        where = f"it cannot be read near character {error.offset}" if error.offset else "it cannot be read"
        reason = "it has several lines or statements" if "\n" in text or ";" in text else where
        raise FormulaError(f"{reason}; write one arithmetic expression such as (15 + 7) * 3") from None
    except (ValueError, RecursionError, MemoryError):
        raise FormulaError("it cannot be read; write one arithmetic expression such as (15 + 7) * 3") from None


def _value(node: ast.expr) -> Number:
    if isinstance(node, ast.Constant):
        return _constant(node.value)
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return limited(_BINARY[type(node.op)](_value(node.left), _value(node.right)))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        return limited(_UNARY[type(node.op)](_value(node.operand)))
    if isinstance(node, ast.Compare):
        return _comparison(node)
    if isinstance(node, ast.Name):
        return _name(node.id)
    if isinstance(node, ast.Call):
        return _call(node)
    raise FormulaError(f"{_what(node)} is not arithmetic; only numbers, operators and known functions are allowed")


def _constant(value: object) -> Number:
    if isinstance(value, str) and value.startswith("decimal:"):
        return limited(Fraction(value.removeprefix("decimal:")))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormulaError(f"{value!r} is not a number")
    if value in (math.inf, -math.inf):
        raise FormulaError("a number is too large for floating point")
    return limited(Fraction(repr(value)) if isinstance(value, float) else value)


def _comparison(node: ast.Compare) -> Number:
    values = [_value(part) for part in (node.left, *node.comparators)]
    for op, left, right in zip(node.ops, values, values[1:], strict=False):
        if type(op) not in _COMPARE:
            raise FormulaError("of comparisons only < <= > >= == != are known")
        if not _COMPARE[type(op)](left, right):
            return False
    return True


def _name(name: str) -> Number:
    if name.lower() in CONSTANTS:
        return CONSTANTS[name.lower()]
    hint = f"; {name} is a function: write {name}(…)" if name.lower() in FUNCTIONS else ""
    raise FormulaError(f"the name {name} is not known{hint}; put the number itself. Constants: {', '.join(CONSTANTS)}")


def _call(node: ast.Call) -> Number:
    name = node.func.id.lower() if isinstance(node.func, ast.Name) else ""
    if name not in FUNCTIONS:
        raise FormulaError(f"{_what(node.func)} is not a known function; known are {', '.join(sorted(FUNCTIONS))}")
    if node.keywords:
        raise FormulaError(f"{name} takes its arguments by position")
    function, fewest, most = FUNCTIONS[name]
    values = [_value(argument) for argument in _arguments(node)]
    if not fewest <= len(values) <= most:
        wanted = str(fewest) if fewest == most else f"at least {fewest}" if most > 2 else f"{fewest} or {most}"
        raise FormulaError(f"{name} takes {wanted} argument(s), not {len(values)}")
    return limited(function(*values))


def _arguments(node: ast.Call) -> list[ast.expr]:
    """Returns the arguments, since `sum([1, 2])` and `sum(1, 2)` mean the same."""
    if len(node.args) == 1 and isinstance(node.args[0], ast.List | ast.Tuple):
        return node.args[0].elts
    return node.args


def _what(node: ast.AST) -> str:
    text = ast.unparse(node)
    return f"`{text if len(text) <= 40 else text[:39] + '…'}`"
