"""Recognises plain prose, for models whose prose counts as an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from worker.core.finish_reasons import Ending, ending_of
from worker.core.records import Reply, ToolView
from worker.dialects.parsing.labels import Kind
from worker.dialects.parsing.leaked import leaked_calls
from worker.dialects.parsing.names import find_tool
from worker.dialects.parsing.page import make_page
from worker.dialects.parsing.repeats import repeats_itself
from worker.dialects.parsing.tidy import tidy

_LABELS = frozenset({Kind.THOUGHT, Kind.ACTION, Kind.INPUT, Kind.OBSERVATION, Kind.ANSWER, Kind.QUESTION, Kind.SPEAKER})
_CALLED = re.compile(r"([^\W\d][\w.\-]{0,63})[ \t]*[(\[{]")
_OWN_WORDS = re.compile(r"\b(?:Action Input|Final Answer)[ \t]*[:：]|\bFinish[ \t]*[\[(]|\"(?:type|tool_name)\"\s*:")


def prose(reply: Reply, tools: Sequence[ToolView]) -> str | None:
    """Returns the text of a complete reply without any dialect's label, call or markup; else None."""
    if ending_of(reply.finish_reason) is not Ending.WHOLE:
        return None
    text = tidy(reply.text).text
    if not text or text[0] in "{[<" or _OWN_WORDS.search(text):
        return None
    if any(label.kind in _LABELS for label in make_page(text, tools, finished=True).labels.found):
        return None
    if repeats_itself(text) or leaked_calls(text, tools) is not None or _names_call(text, tools):
        return None
    return text


def _names_call(text: str, tools: Sequence[ToolView]) -> bool:
    """Whether a known tool is written as a call anywhere in the text."""
    names = {match.group(1) for match in _CALLED.finditer(text)}
    return any((named := find_tool(name, tools)) is not None and named.tool is not None for name in names)
