"""Finds the tool that a written name means: by removing decoration, never by similarity."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from worker.core.records import ToolView

_WRAP = " \t\r\n\u00a0\u3000\u200b\u2060\ufeff`'\"*“”‘’「」『』【】[]<>{}()（）«»"
_TRAIL = ".,;:!?。，；：！？、…"
_PREFIX = re.compile(
    r"^(?:functions?|tools?|default_api|actions?|api|multi_tool_use|mcp)[.:/]+\s*|^(?:function|tool|action|name)\s*[:：=]\s*",
    re.I,
)
_CALL_INDEX = re.compile(r":\d{1,3}$")
_TOKEN = re.compile(r"<[|｜].*$", re.S)
_ZERO_WIDTH = re.compile("[\u200b\u200c\u200d\u2060\ufeff\u00ad]")
_REMARK = re.compile(r"^(\S+?)\s*(?:\(|（|\s[-–—]+\s|#|//|\s→|\s->|[:：]\s)")
_NONE = frozenset(
    (
        "none", "n/a", "na", "null", "nil", "nothing", "no", "no action", "no tool", "no tools", "not needed",
        "none needed", "none required", "not applicable", "no action needed", "no tool needed", "no tools needed",
        "no action required", "no tool required", "no further action", "no further action needed", "无", "无需",
        "不需要", "无需行动",
    )
)  # fmt: skip
_FINAL = frozenset(
    {
        "finish",
        "final answer",
        "finalanswer",
        "final",
        "answer",
        "final response",
        "最终答案",
        "答案",
        "回答",
        "结束",
        "完成",
    }
)


@dataclass(frozen=True, slots=True)
class Named:
    """The name to use: a known tool's, or the unknown name without decoration."""

    name: str
    tool: ToolView | None


def find_tool(written: str, tools: Sequence[ToolView]) -> Named | None:
    """Returns the tool that `written` names, or an unknown name; None if the text is not one name."""
    exact = _match(written.strip(), tools)
    if exact:
        return Named(exact.name, exact)
    for bare in _undressed(written):
        tool = _match(bare, tools)
        if tool:
            return Named(tool.name, tool)
    remark = _REMARK.match(written.strip().lstrip(_WRAP))
    if remark and _mentions(written, tools) == 1:
        tool = _match(undress(remark.group(1)), tools)
        if tool:
            return Named(tool.name, tool)
    bare = undress(written)
    if not looks_like_a_name(bare) or _mentions(bare, tools) > (0 if " " in bare else 1):
        return None
    return Named(bare, None)


def undress(written: str) -> str:
    """Returns the name without quotes, backticks, bold marks, brackets and trailing punctuation."""
    bare = _ZERO_WIDTH.sub("", _TOKEN.sub("", written))
    previous = None
    while previous != bare:
        previous = bare
        bare = bare.strip(_WRAP).rstrip(_TRAIL)
    return bare.replace("\\_", "_")


def says_none(written: str) -> bool:
    """Whether a name means that no tool is wanted ("None", "N/A", "no tool needed")."""
    return undress(written).lower() in _NONE or written.strip() in ("", "-")


def says_final(written: str, tools: Sequence[ToolView]) -> bool:
    """Whether a name means the answer ("Final Answer", "Finish") and is no tool's name."""
    bare = undress(written).lower().replace("_", " ")
    return bare in _FINAL and _match(undress(written), tools) is None


def looks_like_a_name(bare: str) -> bool:
    """Whether the text is one identifier, or up to three plain words, not a sentence."""
    if re.fullmatch(r"[^\W\d][\w.\-:/]{0,63}", bare):
        return True
    words = bare.split()
    return 0 < len(words) <= 3 and all(re.fullmatch(r"[^\W_][\w\-]{0,30}", word) for word in words) and len(bare) < 50


def is_plain_word(name: str) -> bool:
    """Whether a tool's name is an everyday word (`note`, `time`, `map`): an answer that uses it is seldom a call."""
    return name.isalpha() and name.islower()


def _undressed(written: str) -> list[str]:
    """Returns the spellings that removing decoration may give, least removed first."""
    bare = undress(written)
    spellings = [bare, _CALL_INDEX.sub("", bare)]
    without = _PREFIX.sub("", bare)
    spellings += [undress(without), undress(_CALL_INDEX.sub("", without))]
    return [spelling.strip("_") if spelling.startswith("__") else spelling for spelling in spellings if spelling]


def _match(name: str, tools: Sequence[ToolView]) -> ToolView | None:
    """Returns the tool with that name; else the only one that differs in letter case."""
    for tool in tools:
        if tool.name == name:
            return tool
    folded = [tool for tool in tools if tool.name.casefold() == name.casefold()]
    return folded[0] if len(folded) == 1 else None


def _mentions(written: str, tools: Sequence[ToolView]) -> int:
    """Returns how many known tools the text names as a word."""
    words = {word.casefold() for word in re.findall(r"[\w\-]+", written[:2000])}
    return sum(tool.name.casefold() in words for tool in tools)
