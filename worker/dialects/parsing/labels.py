"""Finds the labels of a reply (`Thought:`, `Action:`, …) in every spelling and decoration that models use."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import islice

INVISIBLE = "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\ufeff\u00ad"


class Kind(Enum):
    """What a label announces. Weak kinds are everyday words and count only in the right context."""

    THOUGHT = "thought"
    ACTION = "action"
    INPUT = "input"
    OBSERVATION = "observation"
    ANSWER = "answer"
    QUESTION = "question"
    WEAK_ACTION = "weak action"
    WEAK_INPUT = "weak input"
    WEAK_OBSERVATION = "weak observation"
    SPEAKER = "speaker"


_WORDS: dict[Kind, tuple[str, ...]] = {
    Kind.INPUT: (
        "action input", "action inputs", "tool input", "行动输入", "动作输入", "操作输入", "行动参数", "动作参数",
        "工具输入", "行动 输入", "行動輸入", "動作輸入", "操作輸入", "工具輸入",
    ),
    Kind.WEAK_INPUT: (
        "input", "inputs", "args", "arguments", "argument", "parameters", "params", "action arguments", "action args",
        "action parameters", "tool args", "tool arguments", "输入", "参数",
    ),
    Kind.OBSERVATION: (
        "observation", "observations", "观察", "观察结果", "观测", "观测结果", "觀察", "觀察結果", "観察", "観察結果",
    ),
    Kind.WEAK_OBSERVATION: (
        "result", "results", "output", "response", "tool response", "tool result", "tool results", "tool output",
        "action result", "action output", "action response", "function result", "function response",
        "function output", "execution result", "search results", "search result", "obs", "结果", "输出", "返回结果",
        "工具结果", "工具返回", "工具返回结果", "工具输出", "工具响应", "执行结果", "結果", "工具結果", "執行結果",
        "observed", "tool observation", "return value", "returned", "stdout", "assistant", "observación",
        "observação", "osservazione", "beobachtung", "observatie", "obserwacja", "pozorování", "havainto", "gözlem",
        "quan sát", "observasi", "наблюдение", "спостереження", "관찰", "ملاحظة", "الملاحظة",
        "ergebnis", "résultat", "resultado", "risultato", "resultat", "результат", "결과", "antwort", "réponse",
        "réponse finale", "respuesta", "respuesta final", "resposta", "resposta final", "risposta", "ответ", "最終回答",
    ),
    Kind.ANSWER: (
        "answer", "final answer", "the final answer", "最终答案", "答案", "最终回答", "最终答复", "回答", "最終答案",
    ),
    Kind.QUESTION: ("question", "new question", "next question", "问题", "新问题"),
    Kind.SPEAKER: ("user", "human", "用户", "system"),
    Kind.THOUGHT: ("thought", "thoughts", "reasoning", "思考", "想法", "思路", "思考过程", "思考過程"),
    Kind.WEAK_ACTION: ("tool", "tool name", "action name", "function", "function name", "工具", "工具名称"),
    Kind.ACTION: ("action", "行动", "动作", "操作", "行動", "動作"),
}  # fmt: skip


def _spelled(words: str) -> str:
    """Returns a pattern for the words; allows zero-width characters in them, and `_`, `-` or nothing for a space."""
    letters = [rf"[ \t\u00a0\u3000_\-{INVISIBLE}]{{0,3}}" if letter == " " else re.escape(letter) for letter in words]
    return f"[{INVISIBLE}]{{0,3}}".join(letters)


def _alternatives() -> str:
    groups = []
    for kind, spellings in _WORDS.items():
        longest_first = sorted(spellings, key=len, reverse=True)
        groups.append(f"(?P<{kind.name}>{'|'.join(map(_spelled, longest_first))})")
    return "|".join(groups)


def _first_letters() -> str:
    """Returns the letters that a label may begin with: checking one letter first keeps long replies cheap."""
    return "".join(sorted({words[0] for spellings in _WORDS.values() for words in spellings}))


_LABEL = re.compile(
    r"(?<![^\n\r])"
    rf"(?P<indent>[ \t\u00a0\u3000{INVISIBLE}]{{0,40}})"
    rf"(?P<prefix>(?:[\-•+>·▪●] {{0,3}}|[(（]?\d{{1,2}}[.)、）] {{0,3}}|"
    rf"[a-h]\) {{0,3}})?[ #*_`\[【(<{INVISIBLE}]{{0,14}})"
    rf"(?=[{_first_letters()}])(?:{_alternatives()})"
    r"(?P<suffix>(?:[ \t]{0,2}(?:[#(（]?\d{1,3}[)）]?|\((?:json|result|output|simulated|invented|hypothetical)\)))?"
    rf"[ \t\u00a0\u3000*_`\]】)>{INVISIBLE}]{{0,12}})"
    r"(?P<colon>[:：﹕∶]?)",
    re.I,
)
_TAG = re.compile(
    r"(?<![^\n\r])[ \t]{0,20}"
    r"</?(?:observation|tool_response|tool_result|tool_output|function_results?|function_response)>",
    re.I,
)
MAX_LABELS = 1000
"""No reply has more labels; bounds the work for a flood of them."""
_BLANK = " \t\u00a0\u3000"


@dataclass(frozen=True, slots=True)
class Label:
    """From `start` (of its line) to `end`, where its value begins. `style` is its decoration, spaces removed."""

    kind: Kind
    start: int
    end: int
    style: str
    bold_open: bool = False
    inline: bool = False


class Labels:
    """The labels of a text in order."""

    def __init__(self, found: list[Label], length: int) -> None:
        self.found = found
        self.length = length
        self._starts = [label.start for label in found]

    def after(self, position: int) -> Iterator[Label]:
        """Yields the labels that begin at `position` or later."""
        return islice(self.found, bisect_left(self._starts, position), None)

    def next_start(self, position: int, kinds: frozenset[Kind]) -> int:
        """Returns where the next label of these kinds begins; the text's length if there is none."""
        for index in range(bisect_left(self._starts, position), len(self.found)):
            if self.found[index].kind in kinds:
                return self.found[index].start
        return self.length


def find_labels(text: str) -> list[Label]:
    """Returns every label that begins a line, and tags that announce a result, in order."""
    matches = islice(_LABEL.finditer(text), MAX_LABELS)
    found = [label for match in matches if (label := _label(text, match)) is not None]
    found += [Label(Kind.OBSERVATION, tag.start(), tag.end(), "") for tag in islice(_TAG.finditer(text), MAX_LABELS)]
    return sorted(found, key=lambda label: label.start)


def _label(text: str, match: re.Match[str]) -> Label | None:
    kind = Kind[str(match.lastgroup)] if match.lastgroup in Kind.__members__ else _kind(match)
    prefix, suffix = match.group("prefix"), match.group("suffix")
    opened = re.search(r"\*{1,3}|_{1,3}", prefix)
    marks = opened.group() if opened else ""
    end = match.end()
    if match.group("colon"):
        bold_open = bool(marks) and marks not in suffix
        if bold_open and text.startswith(marks, end):
            end, bold_open = end + len(marks), False
        elif _closes_backtick(prefix, suffix) and text.startswith("`", end) and not text.startswith("``", end):
            end += 1
    else:
        # Without a colon, only a heading or a bold line by itself is a label.
        if not (marks or "#" in prefix) or text[end : _line_end(text, end)].strip(_BLANK + "\r"):
            return None
        bold_open = False
    style = _class_of(prefix.strip(" *_#`" + INVISIBLE))
    return Label(kind, match.start(), end, style, bold_open)


def _kind(match: re.Match[str]) -> Kind:
    return next(kind for kind in Kind if match.group(kind.name) is not None)


def _class_of(prefix: str) -> str:
    """Returns the kind of list that a label is an item of; brackets around a label do not make a list."""
    if re.match(r"[(（]?\d|[a-h]\)", prefix, re.I):
        return "1"
    return prefix[:1] if prefix[:1] in "-•+>·▪●" else ""


def _closes_backtick(prefix: str, suffix: str) -> bool:
    return "`" in prefix and "`" not in suffix


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end
