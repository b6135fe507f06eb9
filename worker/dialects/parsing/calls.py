"""Reads the arguments of a written call, `name="value", n=3`, as Python or JSON does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from worker.core.records import JsonObject, ToolView
from worker.dialects.parsing.arguments import Given, Refused, as_arguments, nothing_given
from worker.dialects.parsing.binding import needs_input, properties, required
from worker.dialects.parsing.lenient import AtEnd, read_value
from worker.dialects.parsing.strings import QUOTES, Unreadable

_KEYWORD = re.compile(r"\s*[`\"']?([^\W\d]\w*)[`\"']?\s*(?:=(?!=)|[:：]=?|＝)\s*")
_BLANKS = re.compile(r"(?:[\s\u200b\ufeff\u00a0]|#[^\n]*\n)*")
_NO_VALUE = re.compile(r"[\w.\-]+\s*=(?!=)|[\w.]+\[[\"']|&(?:quot|apos|#3[49]);|[.…]+$")
_TAKES_OTHER_PREFIX = re.compile(r"(?:[fFbBuU]|[fF][rR]|[rR][fF]|[bB][rR])[\"']")
_CODE = re.compile(r"(?<![^\W])[^\W\d]\w*\(")
_PART_IN_QUOTES = re.compile(r"(?<![\w\\])[\"']|(?<!\\)[\"'](?!\w)")
_EXPRESSIONS = {"expression", "formula", "equation"}
_PROGRAMS = {"code", "program", "script"}
"""Parameters whose value is itself code."""
_OPEN, _CLOSE = "([{（", ")]}）"
_NO_TEXT = "*<\"'“{["
_ENDS = (")", "）")


@dataclass(frozen=True, slots=True)
class _Argument:
    """One argument: its keyword (None if positional), value, whether it was quoted or a literal, and its end."""

    keyword: str | None
    value: Any
    bare: bool
    end: int


def read_call(
    text: str, start: int, tool: ToolView | None, tools: Sequence[ToolView], *, went_on: bool
) -> Given | Refused:
    """Reads the arguments that begin at `start`, after the opening parenthesis.

    `went_on`: more text followed, so a missing closing parenthesis at the end is no sign of a cut.
    """
    arguments: list[_Argument] = []
    at = _skip(text, start)
    try:
        while text[at : at + 1] not in _ENDS:
            if at >= len(text):
                if went_on and arguments and not arguments[-1].bare:
                    break
                raise Unreadable("it ends before its closing parenthesis")
            argument = _argument(text, at, tools)
            arguments.append(argument)
            at = _skip(text, argument.end)
            if text[at : at + 1] in (",", "，", ";"):
                at = _skip(text, at + 1)
            elif at < len(text) and text[at] not in _ENDS:
                raise Unreadable(f"a comma or a closing parenthesis is missing before {text[at : at + 20]!r}")
    except Unreadable as error:
        return Refused(f"The arguments cannot be read: {error}.")
    end = min(at + 1, len(text))
    args = _assign(arguments, tool)
    if isinstance(args, Refused):
        return args
    return nothing_given(tool, end) if args == {} and needs_input(tool) else Given(args, end)


def _skip(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _argument(text: str, at: int, tools: Sequence[ToolView]) -> _Argument:
    keyword = _KEYWORD.match(text, at)
    begin = keyword.end() if keyword else at
    name = keyword.group(1) if keyword else None
    if keyword and keyword.group(0).strip()[:1] in QUOTES and not keyword.group(0).rstrip().endswith((":", "=", "：")):
        begin, name = at, None
    if _TAKES_OTHER_PREFIX.match(text, begin):
        raise Unreadable('a prefixed string (f"…") is not a plain value')
    try:
        read = read_value(text, begin, AtEnd.REFUSE)
    except Unreadable as error:
        if text[begin : begin + 1] in ("{", "[", *QUOTES):
            raise
        if error.cut and begin >= len(text):
            raise
    else:
        after = _skip(text, read.end)
        if text[after : after + 1] in (",", "，", ";", "") or text[after] in _ENDS:
            return _Argument(name, read.value, bare=False, end=read.end)
        if text[begin : begin + 1] in ("{", "[") or (text[begin] in QUOTES and not _operator(text, after)):
            raise Unreadable(f"unexpected {text[after : after + 20]!r} after a value (escape inner quotes)")
    return _bare(text, begin, name, tools)


def _operator(text: str, at: int) -> bool:
    return text[at : at + 1] in "+-*/%.<>=" and text[at : at + 1] != ""


def _bare(text: str, begin: int, name: str | None, tools: Sequence[ToolView]) -> _Argument:
    """Reads an unquoted value: up to the comma before the next keyword, or to the closing parenthesis."""
    end = _bare_end(text, begin)
    value = text[begin:end].strip()
    if not value:
        raise Unreadable("a value is missing")
    if value[0] in _NO_TEXT or value == name or _NO_VALUE.match(value):
        raise Unreadable(f"{value[:40]} is not a plain value")
    if name not in _PROGRAMS and _is_code(value, name):
        raise Unreadable(f"{value[:40]} is code, not a plain value")
    if any(re.search(rf"(?<!\w){re.escape(tool.name)}\s*[(\[]", value) for tool in tools):
        raise Unreadable("a call inside a call: make one call a step")
    return _Argument(name, value, bare=True, end=end)


def _is_code(value: str, name: str | None) -> bool:
    """Whether an unquoted value would have to be run before it could be passed on."""
    return bool(_PART_IN_QUOTES.search(value)) or (name is not None and _calls(value, name))


def _calls(value: str, name: str) -> bool:
    """Whether an unquoted value calls a function, and its parameter takes no code."""
    return name not in _EXPRESSIONS | _PROGRAMS and _CODE.search(value) is not None


def _bare_end(text: str, begin: int) -> int:
    depth, at = 0, begin
    while at < len(text):
        letter = text[at]
        if letter in "\"'" and not text[at - 1 : at].isalnum():
            closing = text.find(letter, at + 1)
            at = closing if closing >= 0 else at
        elif letter in _OPEN:
            depth += 1
        elif letter in _CLOSE:
            if depth == 0:
                return at
            depth -= 1
        elif letter in ",，" and depth == 0:
            if _KEYWORD.match(text, at + 1):
                return at
            raise Unreadable("a value with a comma must be in quotes")
        elif letter == "\n" and depth == 0:
            raise Unreadable("a value over several lines must be in quotes")
        at += 1
    raise Unreadable("it ends before its closing parenthesis")


def _assign(arguments: list[_Argument], tool: ToolView | None) -> JsonObject | str | Refused:
    named: JsonObject = {}
    for argument in (argument for argument in arguments if argument.keyword is not None):
        if argument.bare and _type(tool, str(argument.keyword)) not in (None, "string"):
            return Refused(f"The value of {argument.keyword} must be a {_type(tool, str(argument.keyword))}.")
        if argument.keyword in named and named[argument.keyword] != argument.value:
            return Refused(f"{argument.keyword} is given twice.")
        named[str(argument.keyword)] = argument.value
    positional = [argument for argument in arguments if argument.keyword is None]
    if not positional:
        return named
    if len(positional) == 1 and not named:
        return _single(positional[0], tool)
    names = properties(tool) if tool else []
    unclear = any(argument.bare or isinstance(argument.value, dict) for argument in positional)
    if unclear or len(positional) > len(names):
        return Refused('Write each argument as name="value".')
    given = dict(zip(names, (argument.value for argument in positional), strict=False))
    if set(given) & set(named):
        return Refused(f"{sorted(set(given) & set(named))[0]} is given twice.")
    return {**given, **named}


def _single(argument: _Argument, tool: ToolView | None) -> JsonObject | str | Refused:
    if argument.bare or isinstance(argument.value, (str, dict, list)):
        if argument.bare and (
            tool is None or tool.text_parameter is None or _calls(argument.value, tool.text_parameter)
        ):
            return Refused('Write each argument as name="value".')
        args = as_arguments(argument.value, tool)
        return Refused('Write each argument as name="value".') if isinstance(args, Refused) else args
    if argument.value is None and not needs_input(tool):
        return {}
    names = required(tool) if tool and required(tool) else properties(tool) if tool else []
    if len(names) == 1:
        return {names[0]: argument.value}
    return Refused('Write each argument as name="value".')


def _type(tool: ToolView | None, name: str) -> str | None:
    found = tool.parameters.get("properties") if tool else None
    schema = found.get(name) if isinstance(found, dict) else None
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind if isinstance(kind, str) else None
