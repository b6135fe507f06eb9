"""Finds calls in forms that were not asked for: a text dialect's labels, a command line, YAML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

from worker.core.records import ToolView
from worker.dialects.parsing.binding import properties
from worker.dialects.parsing.fences import closed_fences, within
from worker.dialects.parsing.named_objects import ARGS_KEYS, NAME_KEYS
from worker.dialects.parsing.names import find_tool, is_plain_word

_REACT = re.compile(r"(?<![^\n])[ \t*#]{0,6}Action(?: \d{1,2})?[ \t*]{0,4}[:：][ \t*]{0,4}(.{1,80})", re.I)
_OBJECT_INPUT = re.compile(r"\s*\n[ \t*#]{0,6}Action Input[ \t*]{0,4}[:：]\s*[`*json ]{0,9}\{", re.I)
_REACT_INPUT = re.compile(r"(?<![^\n])[ \t*#]{0,6}Action Input[ \t*]{0,4}[:：]", re.I)


def is_command(text: str, tools: Sequence[ToolView]) -> bool:
    """Whether the text is only a known tool's name and its parameters, as on a command line or in YAML."""
    return any(_command(tool.name, tuple(properties(tool))).fullmatch(text) for tool in tools)


@lru_cache(maxsize=256)
def _command(name: str, parameters: tuple[str, ...]) -> re.Pattern[str]:
    keys = "|".join(map(re.escape, parameters)) or "(?!)"
    value = r"(?:\"[^\"\n]{0,400}\"|'[^'\n]{0,400}'|[^\s\"']{1,400})"
    option = rf"(?:[ \t]{{1,9}}(?:--(?:{keys})[ =]|(?:{keys})=){value})"
    line = rf"(?:\s*\n[ \t\-]{{0,20}}(?:(?:{'|'.join(sorted(ARGS_KEYS))}):[ \t]*(?=\n)|(?:{keys}):[^\n]{{1,400}}))"
    lists = r"(?:(?:tool_|function_)?(?:calls?|tools?|actions?):\s{0,9}\n\s{0,20})?"
    label = rf"[/@!$>\- ]{{0,4}}(?:(?:{'|'.join(sorted(NAME_KEYS))}): ?)?"
    same_line = rf"[,;|] ?(?:{'|'.join(sorted(ARGS_KEYS))}): ?[^\n]{{1,400}}"
    called = "(?!)" if is_plain_word(name) else rf"\[{re.escape(name)}: ?[^\n\]]{{1,400}}\]"
    return re.compile(rf"{lists}{label}{re.escape(name)}(?:{option}+|{line}+|{same_line})|{called}", re.I)


def in_labels(text: str, tools: Sequence[ToolView]) -> bool:
    """Whether the text holds a known tool's call with a dialect's labels, outside a fence."""
    inputs = [found.start() for found in _REACT_INPUT.finditer(text)]
    if not inputs:
        return False
    fences = closed_fences(text)
    for found in islice(_REACT.finditer(text), 20):
        named = find_tool(found.group(1).strip(), tools)
        known = named is not None and (named.tool is not None or _OBJECT_INPUT.match(text, found.end()) is not None)
        if known and not within(fences, found.start()) and inputs[-1] > found.end():
            return True
    return False
