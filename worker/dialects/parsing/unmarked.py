"""Tool calls that stand in a text without markup, as an object, in words or as a program would: never an answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from worker.core.records import ToolRequest, ToolView
from worker.dialects.parsing.arguments import Given
from worker.dialects.parsing.binding import properties
from worker.dialects.parsing.call_formats import MAX_CALLS, call_object
from worker.dialects.parsing.calls import read_call
from worker.dialects.parsing.fences import closed_fences, unwrap_whole, within
from worker.dialects.parsing.lenient import AtEnd, read_value
from worker.dialects.parsing.names import find_tool
from worker.dialects.parsing.quoting import Quoted, quoted_in
from worker.dialects.parsing.strings import Unreadable

_NAME_KEYS = frozenset({"name", "tool", "tool_name", "function", "function_name", "action"})
_ARGS_KEYS = frozenset(
    {"arguments", "args", "parameters", "params", "input", "tool_input", "tool_args", "action_input"}
)
_BESIDE = frozenset({"type", "id", "call_id", "tool_call_id", "index", "thought", "thoughts", "reasoning", "step"})
"""What an object may hold beside a tool's name and its arguments."""
_FIRST_KEYS = (*sorted(_NAME_KEYS | _ARGS_KEYS), "type", "id", "tool_calls", "function_call", "content", "role")
_CUT_OBJECT = re.compile(r"\{\s*\"(?:name|tool_name)\"\s*:\s*\"([\w.\-]{1,64})\"\s*,\s*\"(?:arg|param|tool_a)")
_WORD = re.compile(r"[\w.\-:/]{1,64}")
_TEXT_END = "` \n\t])"
_ENDS_SENTENCE = re.compile(r"[`\s\])]*(?:\s[^\W\d_]{1,6})?[.!…`\s]*")
"""Behind the arguments one short word may end the sentence, as in German `Ich rufe es mit {…} auf.`"""
_LINKS = (
    r"with|the|args|arguments|input|parameters|params|json|code|using|mit|den|dem|argumenten|parametern|avec|les|"
    r"paramètres|con|los|argumentos|parámetros|com|os|parâmetros|gli|argomenti|parametri|met|med|参数|參數|引数"
)
_TO_OBJECT = rf"[^\w{{.,]{{0,16}}(?:(?:{_LINKS})[为是為]?[^\w{{]{{0,16}}){{0,3}}(?=\{{)"
"""What may stand between a tool's name and its arguments: marks and the words for them, but no sentence."""
_LISTED_CALL = re.compile(r"\[[A-Za-z_][\w.]{0,63}\(\w{1,64}\s?=[^\n]{0,2000}\)\]")
_WRITTEN_CALL = re.compile(r"\W{0,8}(?:print\()?([\w.]{1,64})[({][^\n]{0,2000}[)}]\W{0,8}")
_REACT = re.compile(r"(?<![^\n])[ \t*#]{0,6}Action(?: \d{1,2})?[ \t*]{0,4}[:：][ \t*]{0,4}(.{1,80})", re.I)
_REACT_INPUT = re.compile(r"(?<![^\n])[ \t*#]{0,6}Action Input[ \t*]{0,4}[:：]", re.I)
_CALL_TYPE = re.compile(r"tool|function|call", re.I)
_SHOWN_RESULT = re.compile(r"(?:\s*print\(\w{1,40}\))?\W*")
_BEFORE_CALL = re.compile(
    r"\W{0,8}(?:\w{1,40}(?:\s?=\s?|[\"']?\s?[:：]\s?[\"']?))?(?:await\s)?(?:print\()?[\w.]{1,64}\("
)
_METHOD = r"(?:\.(?:run|call|invoke|execute))?"
_MAX_OBJECTS = 20
_MAX_LOOSE_CHARS = 4000
"""Longer objects count as calls only where they are strict JSON."""
_MAX_WRITTEN = 3


def holds_call(text: str, tools: Sequence[ToolView], *, labelled: bool = False) -> bool:
    """Whether a known tool's call stands in the text, or at its end, outside backticks and fences.

    `labelled` says that the text was called an answer: its last sentence may then speak of `tool(parameter="value")`.
    """
    quoted = quoted_in(text)
    return (
        _holds_object(text, quoted, tools)
        or _ends_in_object(text, quoted, tools)
        or any(not labelled or _begins_line(text, begin) for begin in _last_written(text, quoted, tools))
        or _is_object(text.strip(), tools)
        or _labelled(text, tools)
        or _is_command(text.strip(), tools)
    )


def is_written_call(text: str, tools: Sequence[ToolView]) -> bool:
    """Whether the text is nothing but `tool(…)`, `tool{…}` or `[name(key=…)]`, or one object that is a call."""
    written = _WRITTEN_CALL.fullmatch(text.strip())
    return (
        (written is not None and _known(written.group(1), tools))
        or _LISTED_CALL.fullmatch(text.strip()) is not None
        or _is_object(text, tools)
    )


def answers_with_call(text: str, tools: Sequence[ToolView]) -> bool:
    """Whether what a text dialect labels as its answer is, or holds, a call; what is quoted there is meant so."""
    is_quoted = text.startswith("`") or unwrap_whole(text) is not text
    return holds_call(text, tools, labelled=True) or (not is_quoted and is_written_call(text, tools))


def strict_json(text: str, at: int, end: int | None = None) -> Any:
    """The JSON value at `at`; None where there is none, or where it does not end at `end`."""
    value, ends = _json_at(text, at)
    return value if end is None or ends == end else None


def _json_at(text: str, at: int) -> tuple[Any, int]:
    """The JSON value at `at` and its end; None where there is none."""
    try:
        return json.JSONDecoder().raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at


def _known(name: str, tools: Sequence[ToolView]) -> bool:
    named = find_tool(name, tools) if _WORD.fullmatch(name) else None
    return named is not None and named.tool is not None


def _holds_object(text: str, quoted: Quoted, tools: Sequence[ToolView]) -> bool:
    """Whether an object stands in the text, or in a fence at its end, that is a known tool's call, whole or cut."""
    known = frozenset(tool.name for tool in tools)
    end = len(text.rstrip(_TEXT_END))
    for found in islice(_begins_object(known).finditer(text), _MAX_OBJECTS):
        in_span = quoted.holds(found.start())
        read = strict_json(text, found.start(), end if in_span else None)
        read = _loose(text, found.start()) if read is None and not in_span else read
        if in_span and (read is None or text[found.start() - 1] == "`"):
            continue
        if any(_is_call(item, tools) for item in _enveloped(read)):
            return True
        cut = _CUT_OBJECT.match(text, found.start()) if read is None else None
        if cut is not None and cut.group(1) in known:
            return True
    return False


@lru_cache(maxsize=64)
def _begins_object(known: frozenset[str]) -> re.Pattern[str]:
    """An object that may be a call: by its first key, or because that key or its value is a known tool's name."""
    names = "|".join(map(re.escape, sorted(known))) or "(?!)"
    keys = "|".join(_FIRST_KEYS)
    quote, colon = r"[\"']?", r"[\"']?\s*:"
    return re.compile(
        rf"\{{\s*{quote}(?:(?:{keys}|{names}){colon}|\w{{1,40}}{colon}\s*{quote}(?:\w{{1,20}}\.)?(?:{names})[\"'])"
    )


def _loose(text: str, at: int) -> Any:
    """An object written as Python or JavaScript would, or with a comma too many; None where none can be read."""
    try:
        return read_value(text[at : at + _MAX_LOOSE_CHARS], 0, AtEnd.REFUSE).value
    except Unreadable:
        return None


def _enveloped(value: Any) -> list[Any]:
    """The objects that a list, a chat message or another object with one list holds; else the value itself."""
    if isinstance(value, dict) and isinstance(value.get("function_call"), dict):
        return [value["function_call"]]
    lists = [value] if isinstance(value, list) else []
    if isinstance(value, dict):
        lists = [inner for inner in value.values() if isinstance(inner, list)]
    return list(lists[0][:MAX_CALLS]) if len(lists) == 1 and lists[0] else [value]


def _is_object(text: str, tools: Sequence[ToolView]) -> bool:
    """Whether the text is one object, or a list of them, that is a call."""
    if not text.startswith(("{", "[")):
        return False
    value = strict_json(text, 0, len(text))
    return any(_is_call(item, tools) for item in _enveloped(value))


def _is_call(value: Any, tools: Sequence[ToolView]) -> bool:
    """Whether an object is a known tool's call, by the keys of a known format or by what it holds."""
    if not isinstance(value, dict):
        return False
    if isinstance(call_object(value, tools), ToolRequest) or _has_known_keys(value, tools):
        return True
    if len(value) == 1:
        name, args = next(iter(value.items()))
        return _known(name, tools) and _takes(name, args, tools)
    names = [key for key, inner in value.items() if isinstance(inner, str) and _known(inner, tools)]
    return len(names) == 1 and _gives(value, names[0], tools)


def _gives(value: dict[str, Any], key: str, tools: Sequence[ToolView]) -> bool:
    """Whether an object gives the tool that it names at `key` its arguments, as one object or side by side."""
    name = value[key]
    beside = {other: inner for other, inner in value.items() if other != key and other not in _BESIDE}
    nested = [inner for inner in beside.values() if isinstance(inner, dict)]
    if len(nested) == 1 and (len(beside) == 1 or _CALL_TYPE.search(str(value.get("type")))):
        return _takes(name, nested[0], tools)
    return not nested and _takes(name, beside, tools) and not _takes(name, {key: name}, tools)


def _has_known_keys(value: dict[str, Any], tools: Sequence[ToolView]) -> bool:
    if not set(value) <= _NAME_KEYS | _ARGS_KEYS | {"type", "id"}:
        return False
    known = any(_known(value[key].strip(), tools) for key in _NAME_KEYS if isinstance(value.get(key), str))
    return known and any(isinstance(value[key], (dict, str, type(None))) for key in _ARGS_KEYS & set(value))


def _takes(name: str, args: Any, tools: Sequence[ToolView]) -> bool:
    """Whether these are arguments of the tool, and some."""
    named = find_tool(name, tools)
    if named is None or named.tool is None or not isinstance(args, dict) or not args:
        return False
    return set(args) <= set(properties(named.tool))


def _ends_in_object(text: str, quoted: Quoted, tools: Sequence[ToolView]) -> bool:
    """Whether the text ends in a known tool's name and an object of its parameters, as in `Tool call: tool({…})`."""
    if "}" not in text[-40:]:
        return False
    for tool in tools:
        for found in islice(re.finditer(rf"(?<!\w){re.escape(tool.name)}{_TO_OBJECT}", text, re.I), _MAX_OBJECTS):
            shown = quoted.holds(found.start()) and quoted.holds(found.end()) and "`" not in found.group()
            value, end = (None, 0) if shown else _json_at(text, found.end())
            if _takes(tool.name, value, tools) and _ENDS_SENTENCE.fullmatch(text, end):
                return True
    return False


def _last_written(text: str, quoted: Quoted, tools: Sequence[ToolView]) -> Iterator[int]:
    """Where the arguments begin of a known tool's call that ends the text as a program's would: `tool(key="value")`."""
    for tool, begin in _written(text, tools):
        given = None if quoted.holds(begin) else read_call(text, begin, tool, tools, went_on=False)
        if not isinstance(given, Given) or not _SHOWN_RESULT.fullmatch(text, given.end):
            continue
        text_alone = isinstance(given.args, str) and tool.text_parameter is not None
        if text_alone or _takes(tool.name, given.args, tools):
            yield begin


def _begins_line(text: str, begin: int) -> bool:
    """Whether a call stands first on its line, but for marks and what its result is assigned to."""
    return _BEFORE_CALL.fullmatch(text, text.rfind("\n", 0, begin) + 1, begin) is not None


def _written(text: str, tools: Sequence[ToolView]) -> Iterator[tuple[ToolView, int]]:
    """Each known tool with the places of its last opened calls by keyword or with a string."""
    for tool in tools:
        keys = "|".join(map(re.escape, properties(tool))) or "(?!)"
        opens = re.compile(rf"(?<![\w.]){re.escape(tool.name)}{_METHOD}\((?=\s{{0,40}}(?:(?:{keys})\s{{0,9}}=|[\"']))")
        for found in list(islice(opens.finditer(text), _MAX_OBJECTS))[-_MAX_WRITTEN:]:
            yield tool, found.end()


def _is_command(text: str, tools: Sequence[ToolView]) -> bool:
    """Whether the text is nothing but a known tool's name and its parameters, as a command line or YAML has them."""
    return any(_command(tool.name, tuple(properties(tool))).fullmatch(text) for tool in tools)


@lru_cache(maxsize=256)
def _command(name: str, parameters: tuple[str, ...]) -> re.Pattern[str]:
    keys = "|".join(map(re.escape, parameters)) or "(?!)"
    value = r"(?:\"[^\"\n]{0,400}\"|'[^'\n]{0,400}'|[^\s\"']{1,400})"
    option = rf"(?:[ \t]{{1,9}}(?:--(?:{keys})[ =]|(?:{keys})=){value})"
    line = rf"(?:\s*\n[ \t\-]{{0,20}}(?:(?:{'|'.join(sorted(_ARGS_KEYS))}):[ \t]*(?=\n)|(?:{keys}):[^\n]{{1,400}}))"
    lists = r"(?:(?:tool_|function_)?(?:calls?|tools?|actions?):\s{0,9}\n\s{0,20})?"
    label = rf"[/@!$>\- ]{{0,4}}(?:(?:{'|'.join(sorted(_NAME_KEYS))}): ?)?"
    same_line = rf"[,;|] ?(?:{'|'.join(sorted(_ARGS_KEYS))}): ?[^\n]{{1,400}}"
    called = rf"\[{re.escape(name)}: ?[^\n\]]{{1,400}}\]"
    return re.compile(rf"{lists}{label}{re.escape(name)}(?:{option}+|{line}+|{same_line})|{called}", re.I)


def _labelled(text: str, tools: Sequence[ToolView]) -> bool:
    """Whether a known tool's call stands in the text with the labels of a dialect, outside a fence."""
    inputs = [found.start() for found in _REACT_INPUT.finditer(text)]
    if not inputs:
        return False
    fences = closed_fences(text)
    for found in islice(_REACT.finditer(text), 20):
        named = find_tool(found.group(1).strip(), tools)
        known = named is not None and named.tool is not None
        if known and not within(fences, found.start()) and inputs[-1] > found.end():
            return True
    return False
