"""A tidied reply with its labels, and the lookups that every labelled dialect needs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from worker.core.records import ToolView
from worker.dialects.parsing.fences import closed_fences, within
from worker.dialects.parsing.inline import inline_labels
from worker.dialects.parsing.labels import Kind, Label, Labels, find_labels

STRONG = frozenset({Kind.THOUGHT, Kind.ACTION, Kind.INPUT, Kind.OBSERVATION, Kind.ANSWER, Kind.QUESTION})
AFTER_INPUT = STRONG | {Kind.WEAK_OBSERVATION, Kind.SPEAKER}
_RESIDUE = re.compile(r"(?:^|\n)[ \t*]*(?:Ob(?:s(?:e(?:r(?:v(?:a(?:t(?:i(?:on?)?)?)?)?)?)?)?)?|Thought|观察?)[ \t*]*$")
_SENTENCE_ENDS = (".", "!", "?", "…", "。", "！", "？")
_OPENS_LIST = re.compile(r"[ \t*_]*\r?\n(?:[ \t]*\r?\n)?[ \t]*(?:[-*•] |\d{1,2}[.)] )")
_RULE = re.compile(r"\n[ \t]*(?:-{3,}|={3,}|\*{3,}|_{3,})\s*$")
_RESULT_CUE = re.compile(
    r"\b(?:results?|returned|returns|output|outcome|observ\w+|shows?|showed|got|now know|"
    r"(?:tool|search) (?:says|said|gave|found)|found that|according to|gives|gave|equals)\b"
    r"|结果|得到|返回|查到|现在知道|我已经知道",
    re.I,
)
_TURNS = frozenset({Kind.THOUGHT, Kind.OBSERVATION, Kind.ACTION, Kind.QUESTION, Kind.SPEAKER, Kind.ANSWER})
_NEAR_CHARS = 600
_SHOWN_RESULT = re.compile(
    r"^[ \t]*(?:(?!thought|思考|note\b)[^\W\d][\w ]{0,30}[:：][ \t]*\S|(?:=>|->|→|=)[ \t]*\S|[{`]|[\d.,]+[ \t]*$)",
    re.I | re.M,
)
_CLOSERS = re.compile(r"\A(?:[\s.,;`]|</[\w:]{1,30}>)*")
"""Ends a quotation, fence or sentence around the action itself."""
_INTRO = (":", "：")
_PAIR_BEHIND = re.compile(
    r"[^\n]{0,400}\n[ \t]*(?!assistant|ai\b|bot\b|thought|answer)\w[^:\n：]{0,40}[:：]\s*\S", re.I
)
_PAIR_LINE = re.compile(r"[ \t]*[\w][^:\n：]{0,40}[:：]\s*\S")


@dataclass(frozen=True, slots=True)
class Page:
    """The text of a reply, its labels, and the tools that it may use. `finished`: the model ended the reply itself."""

    text: str
    tools: Sequence[ToolView]
    labels: Labels
    finished: bool = False
    fences: list[tuple[int, int]] = field(default_factory=list)

    def value_end(self, start: int, kinds: frozenset[Kind] = AFTER_INPUT) -> int:
        """Returns where the value that begins at `start` ends: at the next label outside a fenced block."""
        for label in self.labels.after(start):
            if label.kind in kinds and not within(self.fences, label.start):
                return label.start
        return len(self.text)

    def without_bold(self, start: int, value: str) -> str:
        """Returns the value of the label that ends at `start`, without the mark that closes the label's own bold."""
        opened = any(label.end == start and label.bold_open for label in self.labels.found)
        return close_bold(value) if opened else value

    def thought(self, before: int) -> str:
        """Returns the thought before `before`: the values of its labels, or the prose if there is no label."""
        labels = [label for label in self.labels.found if label.start < before]
        thoughts = [
            self.text[label.end : min(before, self.labels.next_start(label.end, STRONG))]
            for label in labels
            if label.kind is Kind.THOUGHT
        ]
        if not thoughts:
            first = min((label.start for label in labels if label.kind in STRONG), default=before)
            thoughts = [self.text[:first]]
        return "\n".join(part for thought in thoughts if (part := thought.strip(" \t\r\n*\u00a0\u3000\u200b")))


def make_page(text: str, tools: Sequence[ToolView], finished: bool) -> Page:
    """Finds the labels. `finished`: the endpoint said that the model ended its reply itself."""
    labels = inline_labels(text, tools, find_labels(text))
    return Page(text, tools, Labels(labels, len(text)), finished, closed_fences(text))


def close_bold(text: str) -> str:
    """Returns the text without a closing bold or italic mark at the end of its first line."""
    line, newline, rest = text.partition("\n")
    bare = line.rstrip()
    return (bare.rstrip("*_") if bare.endswith(("*", "_")) else line) + newline + rest


def without_residue(text: str) -> str:
    """Returns the text without the beginning of a label at its end, left by a stop sequence that was cut off."""
    found = _RESIDUE.search(text, max(0, len(text) - 40))
    return text[: found.start()] if found else text


def claims_result(between: str) -> bool:
    """Whether the text between an action and an answer is, or mentions, a result, which cannot exist yet."""
    between = _CLOSERS.sub("", between)
    return _RESULT_CUE.search(between) is not None or _SHOWN_RESULT.search(between) is not None


def answer_end(page: Page, label: Label) -> tuple[int, Label | None]:
    """Returns where the answer of `label` ends, and the label of an invented new turn that ends it, if any."""
    fences = closed_fences(page.text, label.start)
    for other in page.labels.after(label.end):
        if within(fences, other.start) or (other.style and other.style != label.style):
            continue
        if other.kind is not Kind.SPEAKER and _is_heading(page, other) and not _is_heading(page, label):
            continue
        if other.kind in STRONG and _introduced(page, label, other):
            break  # the answer announced a listing, so its label words are data to the end
        if _is_turn(page, label, other):
            return other.start, other
    return len(page.text), None


def is_form(page: Page, turn: Label, answer: str) -> bool:
    """Whether a label word after a bare title is part of a report or quiz: a pair follows, and no real turn."""
    if "\n" in answer.strip() or answer.rstrip("*_ ")[-1:] in _SENTENCE_ENDS:
        return False
    following = list(page.labels.after(turn.end))
    if any(label.kind in (Kind.THOUGHT, Kind.ACTION, Kind.INPUT, Kind.ANSWER) for label in following):
        return False
    lines = page.text[turn.end :].split("\n")[1:]
    return any(_PAIR_LINE.match(line.lstrip(" \t*_#-")) for line in lines)


def is_quiz(page: Page, turn: Label) -> bool:
    """Whether several questions follow, but no thought or action: a list of questions, or invented turns."""
    kinds = [label.kind for label in page.labels.after(turn.start)]
    return kinds.count(Kind.QUESTION) > 1 and Kind.THOUGHT not in kinds and Kind.ACTION not in kinds


def without_rule(text: str) -> str:
    """Returns the text without a horizontal rule at its end, which models draw before an invented turn."""
    return _RULE.sub("", text)


def _is_heading(page: Page, label: Label) -> bool:
    return "#" in page.text[label.start : label.end]


def _before(page: Page, answer: Label, other: Label) -> str:
    """Returns the end of the answer's text before another label."""
    return page.text[max(answer.end, other.start - _NEAR_CHARS) : other.start]


def _introduced(page: Page, answer: Label, other: Label) -> bool:
    return _before(page, answer, other).rstrip(" \t*_\r\n").endswith(_INTRO)


def _is_turn(page: Page, answer: Label, other: Label) -> bool:
    """Whether a label inside an answer begins an invented turn; label words in a listing or form do not."""
    if other.kind not in _TURNS:
        return False
    written = _before(page, answer, other)
    before = written.rstrip(" \t*_\r\n")
    if not before.strip() or before.endswith(_INTRO):
        return False
    previous = before[before.rfind("\n") + 1 :]
    blank_before = "\n\n" in written[len(before) :].replace("\r", "")
    if not blank_before and "\n" in before and _PAIR_LINE.match(previous):
        return False
    if other.kind in (Kind.THOUGHT, Kind.OBSERVATION):
        return _OPENS_LIST.match(page.text, other.end) is None
    if other.kind is Kind.ACTION:
        return _acts(page, other)
    if other.kind is Kind.QUESTION:
        return True
    if other.kind is Kind.SPEAKER:
        return blank_before or not _PAIR_BEHIND.match(page.text, other.end)
    return other.kind is Kind.ANSWER


def _acts(page: Page, action: Label) -> bool:
    """Whether an action label after an answer is followed by a known tool's name, or by `Finish[`."""
    line = page.text[action.end : action.end + 200].strip().partition("\n")[0].casefold()
    if re.match(r"[\W_]*(?:finish|final answer)\s*[\[(]", line):
        return True
    return any(re.match(rf"[\W_]*{re.escape(tool.name.casefold())}\b", line) for tool in page.tools)
