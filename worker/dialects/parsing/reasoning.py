"""Removes reasoning blocks (`<think>…</think>` and the like) from a reply: nothing in them is ever acted upon."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from worker.dialects.parsing.fences import closed_fences, within
from worker.dialects.parsing.labels import Kind, find_labels
from worker.dialects.parsing.quoting import inside_string, line_around, quoted_in

_NAMES = "think|thinking|thoughts?|reasoning|reflection|scratchpad|seed:think|inner_monologue"
_TAG = re.compile(
    rf"<\s{{0,3}}(?P<shut>/?)\s{{0,3}}(?:{_NAMES})(?:\s[^<>\n]{{0,80}})?>"
    r"|\[(?P<shut2>/?)THINK\]|◁(?P<shut3>/?)think▷|<\|(?:START|BEGIN(?:_OF)?|(?P<shut4>END(?:_OF)?))_(?:THINKING|THOUGHT|THINK)\|>",
    re.I,
)
_MAX_TAGS = 300
_HARMONY = re.compile(
    r"(?:<\|start\|>\s*assistant[^<>\n]{0,80})?(?:<\|channel\|>(\w+)[^<>\n]{0,80}){1,3}"
    r"(?:<\|constrain\|>\s*\w+\s*)?<\|message\|>"
)
_BARE_CHANNEL = re.compile(r"analysis(?=[A-Z\"'])")
_HARMONY_END = re.compile(r"<\|(?:end|call|return|start|channel)\|>")


@dataclass(frozen=True, slots=True)
class _Tag:
    start: int
    end: int
    shuts: bool


def without_reasoning(text: str) -> tuple[str, bool]:
    """Returns the text without reasoning blocks, and whether there were any.

    An unclosed block runs to the end; a closing tag alone ends reasoning that began before the reply did. A tag in a
    fenced block, or one that a sentence only mentions, is data.
    """
    if _BARE_CHANNEL.match(text) and "assistantfinal" in text:
        return text.partition("assistantfinal")[2], True
    text, blocks = _without_blocks(text)
    if "<|channel|>" in text and "<|message|>" in text and not text.lstrip().startswith(("{", "[")):
        text = _final_channels(text)
    return text, blocks


def _without_blocks(text: str) -> tuple[str, bool]:
    """Returns the text without what is between reasoning tags, and whether there was any."""
    found = islice(_TAG.finditer(text), _MAX_TAGS)
    tags = [_Tag(match.start(), match.end(), _shuts(match)) for match in found]
    if not tags:
        return text, False
    blocks = _blocks(text, tags)
    kept, position = [], 0
    for start, end in blocks:
        kept.append(text[position:start] if start > position else "")
        position = max(position, end)
    return "".join(kept) + text[position:], bool(blocks)


def _shuts(match: re.Match[str]) -> bool:
    return any(match.group(name) for name in ("shut", "shut2", "shut3", "shut4"))


def _blocks(text: str, tags: list[_Tag]) -> list[tuple[int, int]]:
    """Returns the spans to remove, in order."""
    scene = _Scene(text)
    blocks: list[tuple[int, int]] = []
    index = 0
    while index < len(tags):
        tag = tags[index]
        if tag.shuts:
            blocks = [(0, tag.end)] if scene.ends_reasoning(tag) else blocks
            index += 1
            continue
        after = next((at for at in range(index + 1, min(index + 50, len(tags))) if tags[at].shuts), len(tags))
        shut = tags[after] if after < len(tags) else None
        if scene.begins_reasoning(tag, shut):
            blocks.append((tag.start, shut.end if shut else len(text)))
            index = after + 1
        elif shut is not None and "\n" not in text[tag.start : shut.start]:
            index = after + 1  # a sentence that mentions both tags
        else:
            index += 1
    return blocks


class _Scene:
    """What surrounds a tag: fences, labels, quotes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.fences = closed_fences(text)
        labels = find_labels(text)
        self.label_ends = {self._after_blanks(label.end) for label in labels}
        self.answers = [label.end for label in labels if label.kind is Kind.ANSWER]

    def begins_reasoning(self, tag: _Tag, shut: _Tag | None) -> bool:
        before, _ = line_around(self.text, tag.start, tag.end)
        if not self.text[: tag.start].strip():
            return True
        if within(self.fences, tag.start):
            return False
        if not before.strip(" \t*") or tag.start in self.label_ends:
            return True
        if self._quoted(tag) or any(answer < tag.start for answer in self.answers):
            return False
        after = self.text[tag.end : shut.start if shut else len(self.text)]
        return "\n" in after if shut else after.startswith("\n")

    def ends_reasoning(self, tag: _Tag) -> bool:
        if within(self.fences, tag.start) or self._quoted(tag):
            return False
        before, rest = line_around(self.text, tag.start, tag.end)
        if not before.strip() or not rest.strip() or find_labels(rest.lstrip()[:80])[:1]:
            return True
        return not before[-1:].isspace() or before.rstrip()[-1:] in ".!?。！？"

    def _quoted(self, tag: _Tag) -> bool:
        before, after = self.text[max(0, tag.start - 1) : tag.start], self.text[tag.end : tag.end + 1]
        if inside_string(self.text, tag.start, tag.end):
            return True
        return (before != "" and before in "`'\"“‘(") or (after != "" and after in "`'\"”’)")

    def _after_blanks(self, position: int) -> int:
        while position < len(self.text) and self.text[position] in " \t":
            position += 1
        return position


def _final_channels(text: str) -> str:
    """Returns the messages for the reader from a reply in gpt-oss's channels; a call stays as it was written."""
    quoted = quoted_in(text)
    messages = [found for found in _HARMONY.finditer(text) if not quoted.holds(found.start())]
    if not messages:
        return text
    kept = [text[: messages[0].start()]]
    for message in messages:
        found = _HARMONY_END.search(text, message.end())
        end = found.start() if found else len(text)
        said = text[message.end() : end]
        # A message in `commentary` that is no call announces what comes next; it is not the answer.
        announces = message.group(1) == "commentary" and not said.lstrip().startswith(("{", "["))
        if "to=" in message.group():
            kept.append(text[message.start() : end])
        elif message.group(1) != "analysis" and not announces:
            kept.append(said)
    return "\n".join(part for part in kept if part.strip())
