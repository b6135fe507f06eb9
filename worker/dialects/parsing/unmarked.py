"""Finds tool calls without markup in a text, as an object, in words or as code: such a text is never an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from worker.core.records import ToolRequest, ToolView
from worker.dialects.parsing.call_formats import MAX_CALLS
from worker.dialects.parsing.fences import unwrap_whole
from worker.dialects.parsing.lenient import AtEnd, read_value
from worker.dialects.parsing.named_objects import (
    ARGS_KEYS,
    BESIDE,
    NAME_KEYS,
    enveloped,
    is_call,
    is_meant,
    json_at,
    known,
    object_call,
    strict_json,
    takes,
)
from worker.dialects.parsing.other_forms import in_labels, is_command
from worker.dialects.parsing.programs import begins_line, in_block, last_written, whole_written
from worker.dialects.parsing.quoting import Quoted, quoted_in
from worker.dialects.parsing.strings import Unreadable
from worker.dialects.parsing.worded import words_call

_FIRST_KEYS = (*sorted(NAME_KEYS | ARGS_KEYS | BESIDE), "tool_calls", "function_call", "content", "role")
_CUT_OBJECT = re.compile(
    r"\{\s*(?:\"\w{1,20}\"\s*:\s*\"[^\"\n]{0,80}\"\s*,\s*){0,3}\"(?:name|tool_name)\"\s*:\s*\"([\w.\-]{1,64})\"\s*,"
    r"\s*(?:\"\w{1,20}\"\s*:\s*\"[^\"\n]{0,80}\"\s*,\s*){0,3}\"(?:arg|param|tool_a|input)"
)
_TEXT_END = "` \n\t])"
_ENDS_SENTENCE = re.compile(
    r"[`\s\])]*(?:[⟦\[<({]{1,2}[/|%]?\w{1,12}[/|%]?[⟧\]>)}]{1,2}\s*)?(?:\s[^\W\d_]{1,6})?[.!…`\s]*"
)
"""One short word may end the sentence after the arguments, as in German `Ich rufe es mit {…} auf.`"""
_LINKS = (
    r"with|the|args|arguments|input|parameters|params|json|code|using|mit|den|dem|argumenten|parametern|avec|les|"
    r"paramètres|con|los|argumentos|parámetros|com|os|parâmetros|gli|argomenti|parametri|met|med|参数|參數|引数"
)
_TO_OBJECT = rf"[^\w{{.,]{{0,16}}(?:(?:{_LINKS})[为是為]?[^\w{{]{{0,16}}){{0,3}}(?=\{{)"
"""What may be between a tool's name and its arguments: marks and the words for them, but no sentence."""
_LISTED_CALL = re.compile(r"\[[A-Za-z_][\w.]{0,63}\(\w{1,64}\s?=[^\n]{0,2000}\)\]")
_WRITTEN_CALL = re.compile(r"\W{0,8}(?:print\()?([\w.]{1,64})[({][^\n]{0,2000}[)}]\W{0,8}")
_MAX_OBJECTS = 20
_MAX_LOOSE_CHARS = 4000
"""Longer objects count as calls only if they are strict JSON."""
_MAX_OPENINGS = 5


def holds_call(text: str, tools: Sequence[ToolView], *, labelled: bool = False) -> bool:
    """Whether a known tool's call is in the text, or at its end, outside backticks and fences.

    `labelled`: the text was labelled an answer, so its last sentence may mention `tool(parameter="value")`.
    """
    quoted = quoted_in(text)
    return (
        _holds_object(text, quoted, tools)
        or _ends_in_object(text, quoted, tools)
        or any(not labelled or begins_line(text, begin) for begin in last_written(text, quoted, tools))
        or _is_object(text.strip(), tools)
        or in_labels(text, tools)
        or (not labelled and in_block(text, tools))
        or is_command(text.strip().rpartition("\n\n")[2], tools)
        or _means_object(text, quoted, tools)
        or (_read_whole(text) is None and words_call(text, quoted, tools, labelled=labelled))
    )


def is_written_call(text: str, tools: Sequence[ToolView]) -> bool:
    """Whether the text is only `tool(…)`, `tool{…}` or `[name(key=…)]`, or one object that is a call."""
    written = _WRITTEN_CALL.fullmatch(text.strip())
    return (
        (written is not None and known(written.group(1), tools))
        or _LISTED_CALL.fullmatch(text.strip()) is not None
        or _is_object(text, tools)
    )


def whole_calls(text: str, tools: Sequence[ToolView], *, fenced: bool) -> tuple[ToolRequest, ...]:
    """Returns the calls if the text is nothing else and each fits an offered tool in exactly one reading; else none.

    Counts objects that name the tool, `tool({…})`, `tool {…}` and `tool(key="value")`: all give arguments by name.
    A `fenced` program may be what was asked for.
    """
    text = text.strip()
    if text.startswith(("{", "[")):
        read = _read_whole(text)
        items = read if isinstance(read, list) else [read]
        calls = [object_call(item, tools) for item in items[:MAX_CALLS]]
        return tuple(call for call in calls if call is not None) if None not in calls else ()
    for tool in () if fenced else tools:
        call = whole_written(text, tool, tools)
        if call is not None:
            return (call,)
    return ()


def answers_with_call(text: str, tools: Sequence[ToolView]) -> bool:
    """Whether what a text dialect labels as its answer is, or holds, a call; quoted text in it is an example."""
    is_quoted = text.startswith("`") or unwrap_whole(text) is not text
    return holds_call(text, tools, labelled=True) or (not is_quoted and is_written_call(text, tools))


def _holds_object(text: str, quoted: Quoted, tools: Sequence[ToolView]) -> bool:
    """Whether the text, or a fence at its end, holds an object that is a known tool's call, complete or cut off."""
    known = frozenset(tool.name for tool in tools)
    end = len(text.rstrip(_TEXT_END))
    for found in islice(_begins_object(known).finditer(text), _MAX_OBJECTS):
        in_span = quoted.holds(found.start())
        read = strict_json(text, found.start(), end if in_span else None)
        read = _loose(text, found.start()) if read is None and not in_span else read
        if in_span and (read is None or text[found.start() - 1] == "`"):
            continue
        if any(is_call(item, tools) for item in enveloped(read)):
            return True
        cut = _CUT_OBJECT.match(text, found.start()) if read is None else None
        if cut is not None and cut.group(1) in known:
            return True
    return False


@lru_cache(maxsize=64)
def _begins_object(known: frozenset[str]) -> re.Pattern[str]:
    """Matches what may be a call object: its first key is typical, or that key or its value is a known tool's name."""
    names = "|".join(map(re.escape, sorted(known))) or "(?!)"
    keys = "|".join(_FIRST_KEYS)
    quote, colon = r"[\"']?", r"[\"']?\s*:"
    return re.compile(
        rf"\{{\s*{quote}(?:(?:{keys}|{names}){colon}|\w{{1,40}}{colon}\s*{quote}(?:\w{{1,20}}\.)?(?:{names})[\"'])"
    )


def _loose(text: str, at: int) -> Any:
    """Reads an object in Python or JavaScript notation, or with an extra comma; None if it cannot be read."""
    try:
        return read_value(text[at : at + _MAX_LOOSE_CHARS], 0, AtEnd.REFUSE).value
    except Unreadable:
        return None


def _read_whole(text: str) -> Any:
    """Reads a whole text as one value, strictly or in Python or JavaScript notation; None if there is more."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        read = read_value(text[:_MAX_LOOSE_CHARS], 0, AtEnd.REFUSE)
    except Unreadable:
        return None
    return read.value if not text[read.end :].strip() else None


def _means_object(text: str, quoted: Quoted, tools: Sequence[ToolView]) -> bool:
    """Whether an object that is the whole text, or ends it, names a tool and seems to give it arguments."""
    body = unwrap_whole(text.strip())
    if body.startswith(("{", "[")):
        return any(is_meant(value, tools) for value in _all_of(_read_whole(body)))
    end = len(body.rstrip(_TEXT_END))
    if body[end - 1 : end] != "}":
        return False
    begin = end
    for _ in range(_MAX_OPENINGS):
        begin = body.rfind("{", max(0, end - _MAX_LOOSE_CHARS), begin)
        if begin < 0:
            return False
        if not quoted.holds(begin) and (
            is_meant(value := strict_json(body, begin, end), tools) or is_call(value, tools)
        ):
            return True
    return False


def _all_of(value: Any) -> list[Any]:
    """Returns a list that is one call, or the list's items; else the value."""
    return [value, *(item for item in value if isinstance(item, dict))] if isinstance(value, list) else [value]


def _is_object(text: str, tools: Sequence[ToolView]) -> bool:
    """Whether the text is one object, or a list of objects, that is a call."""
    if not text.startswith(("{", "[")):
        return False
    value = strict_json(text, 0, len(text))
    return any(is_call(item, tools) for item in enveloped(value))


def _ends_in_object(text: str, quoted: Quoted, tools: Sequence[ToolView]) -> bool:
    """Whether the text ends in a known tool's name and an object of its parameters, as in `Tool call: tool({…})`."""
    if "}" not in text[-40:]:
        return False
    for tool in tools:
        for found in islice(re.finditer(rf"(?<!\w){re.escape(tool.name)}{_TO_OBJECT}", text, re.I), _MAX_OBJECTS):
            shown = quoted.holds(found.start()) and quoted.holds(found.end()) and "`" not in found.group()
            value, end = (None, 0) if shown else json_at(text, found.end())
            if takes(tool.name, value, tools) and _ENDS_SENTENCE.fullmatch(text, end):
                return True
    return False
