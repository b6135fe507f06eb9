"""Reads an input written as plain text: the text itself, or the tool's own parameters in another form."""

from __future__ import annotations

import re

from worker.core.records import JsonObject, ToolView
from worker.dialects.parsing.arguments import Given, Refused, as_arguments, nothing_given, parameters_of, says_nothing
from worker.dialects.parsing.binding import properties
from worker.dialects.parsing.calls import read_call
from worker.dialects.parsing.fences import closed_fences, in_triple_quotes
from worker.dialects.parsing.lenient import read_value
from worker.dialects.parsing.strings import Unreadable

_COMMENTED = re.compile(r"[^\n]{1,200}[^\n.!?:;,。]\n[ \t]*\n[ \t]*[A-Z][^\n]*[.!?]")
_TAIL = re.compile(r"\n[ \t]*(?:-{3,}|={3,}|\*{3,}|PAUSE)[ \t]*$")
_PLACEHOLDER = re.compile(r"[.…\s`'\"*_{}()<>\[\]\\|~-]+")
_META = re.compile(
    r"\n\s*\n\s*(?:\(|\[|\*|i(?:'ll| will|'m| am)? |let me|let's|this (?:will|should)|now |once |wait|please wait|"
    r"note:|then )",
    re.I,
)


def text_input(written: str, tool: ToolView | None, end: int) -> Given | Refused:
    """Reads the arguments from a text without labels or brackets; `end` is where it ended in the reply."""
    text = unquoted(_without_stray_fence(_TAIL.sub("", trim(written))), tool)
    if says_nothing(text) or text == "(empty)":
        return nothing_given(tool, end)
    if _PLACEHOLDER.fullmatch(text):
        return Refused("The input is only marks, or was cut off. Write it in full.")
    if tool is not None and tool.text_parameter is None:
        return _object(text, tool, end)
    if tool is None:
        return Given(text, end)
    if tool.code_language is not None and (reason := _no_program(text, tool.code_language)):
        return Refused(reason)
    if tool.code_language is None and (_META.search(text) or _COMMENTED.fullmatch(text)):
        return Refused("Text follows the input. Write the input alone and stop there, or give it as a JSON object.")
    if text.startswith('"{') and isinstance(args := _encoded(text, tool), dict):
        return Given(args, end)
    if _names_parameter(text, tool, r"\{\s*[\"'“]?", r"[\"'”]?\s*[:：]"):
        return _object(text, tool, end)
    if tool.code_language is None and _names_parameter(text, tool, "", r"\s*[=:：](?!=)"):
        return _keywords(text, tool, end)
    return Given(text, end)


def unquoted(text: str, tool: ToolView | None) -> str:
    """Returns a line without quotes or backticks around the whole of it; a program keeps its quotes."""
    if tool is not None and tool.code_language is not None:
        return text
    opening, inner, closing = text[:1], text[1:-1], text[-1:]
    paired = opening != "" and opening in "\"'`“" and closing == {"“": "”"}.get(opening, opening)
    if len(text) > 2 and paired and opening not in inner and closing not in inner and "\n" not in text:
        return inner.strip()
    return text


def trim(value: str) -> str:
    """Trims blanks; a value that begins on its own line keeps that line's indentation."""
    if "\n" not in value.strip():
        return value.strip()
    begun = re.match(r"(?:[ \t\r\u00a0]*\n)+", value)
    return value[begun.end() :].rstrip() if begun else value.strip()


def _without_stray_fence(text: str) -> str:
    """Returns the text without closing marks that have no opening."""
    if text.endswith("\n```") and text.count("```") == 1:
        return text[:-4].rstrip()
    return text


def _no_program(text: str, language: str) -> str | None:
    """Returns why a text is not just a program: it holds a fenced block, or a language's name comes first."""
    if text.partition("\n")[0].strip().lower() == language and "\n" in text:
        return f"Write the program alone, without the word {language} before it."
    if any(not in_triple_quotes(text, start) for start, _ in closed_fences(text)):
        return "Write the program alone: as one fenced block, with nothing before it."
    return None


def _names_parameter(text: str, tool: ToolView, before: str, after: str) -> bool:
    """Whether the text begins with one of the tool's parameters."""
    return any(re.match(before + re.escape(name) + after, text) for name in properties(tool))


def _object(text: str, tool: ToolView, end: int) -> Given | Refused:
    """Reads a text that is one JSON object with only the tool's own parameters."""
    if not text.startswith("{"):
        return Refused(f"The input of {tool.name} must be one JSON object with {parameters_of(tool)}.")
    try:
        read = read_value(text)
    except Unreadable as error:
        return Refused(f"The input is not valid JSON: {error}.")
    if text[read.end :].strip(" \t\r\n}`"):
        return Refused("Text follows the JSON object. Write the input alone and stop there.")
    args: JsonObject | str | Refused = as_arguments(read.value, tool)
    known = set(properties(tool))
    if isinstance(args, dict) and not set(args) <= known and tool.text_parameter not in (None, *args):
        return Given(text, end)
    return args if isinstance(args, Refused) else Given(args, end)


def _encoded(text: str, tool: ToolView) -> object:
    """Returns the object if the whole text is a JSON string of it (encoded twice); else None."""
    try:
        read = read_value(text)
    except Unreadable:
        return None
    return as_arguments(read.value, tool) if read.end == len(text) else None


def _keywords(text: str, tool: ToolView, end: int) -> Given | Refused:
    """Reads `city="Oslo"`: quoted values are arguments; without quotes it could be text, so it is refused."""
    given = read_call(text + ")", 0, tool, (), went_on=False)
    quoted = re.match(r"\w+\s*[=:：]\s*[\"'“]", text) is not None
    if isinstance(given, Given) and isinstance(given.args, dict) and quoted and given.end == len(text) + 1:
        return Given(given.args, end)
    return Refused(f"Write the input of {tool.name} alone, without the parameter's name.")
