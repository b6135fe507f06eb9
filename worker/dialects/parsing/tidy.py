"""Removes what is not part of a reply: invisible characters, special tokens, reasoning, invented chat turns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from worker.dialects.parsing.call_markup import opens_call
from worker.dialects.parsing.fences import unwrap_whole
from worker.dialects.parsing.labels import find_labels
from worker.dialects.parsing.quoting import inside_string, quoted_in
from worker.dialects.parsing.reasoning import without_reasoning

_EDGE = " \t\r\n\f\v\u00a0\u3000\u200b\u200e\u200f\u2060\ufeff"
_COLOUR = re.compile(r"\x1b\[[\d;]{0,12}m")
_TOKEN = (
    r"(?:<[|｜][^<>|｜\n]{1,40}[|｜]>|</?s>|</?(?:end_of_turn|start_of_turn|eos|bos|pad|endoftext|end_of_text)>|\[/?INST\]"
    r"|<\|?(?:im_end|eot_id|endoftext)\|?>)"
)
_ONE = re.compile(r"<[|｜][^<>|｜\n]{1,40}[|｜]>")
_TRAILING = re.compile(rf"(?:{_TOKEN}\s{{0,5}})+$")
_LEADING = re.compile(
    r"(?:<s>|<\|begin_of_text\|>|<bos>|<\|(?:im_start|start)\|>\s*(?:assistant)?\s*|<start_of_turn>\s*model\s*"
    r"|<\|start_header_id\|>\s*assistant\s*<\|end_header_id\|>\s*|<\|assistant\|>\s*|\[/INST\]\s*"
    r"|(?:assistant|model)[ \t]*(?=\n)|(?:assistant|ai)\s?[:：](?=\s))+",
    re.I,
)
_LEADS = re.compile(
    r"(?:<[|｜][^<>|｜\s]{1,40}[|｜]>(?:assistant(?=<))?(?:[ \t]*\n)?)+(?=[^\s<{\[(])(?![\w.:\-]{1,64}\s{0,9}[{(\[<])"
    r"|>>>all[ \t]*\n",
    re.I,
)
"""Special tokens that open the text; a blank follows one that a sentence mentions."""
_BOX_END = re.compile(r"<\|end(?P<of>(?:_of)?_\w{1,20})\|>\s*$", re.I)
_FINAL_BLOCK = re.compile(
    r"(?:^|\n)\s*\[BEGIN (?:FINAL )?(?P<what>RESPONSE|ANSWER)\]\s*(?P<held>.*?)\s*"
    r"(?:\[END (?:FINAL )?(?P=what)\]\s*)?$",
    re.S,
)
_ASKED_ANEW = re.compile(r"(?<=[.!?…。！？\n])\s{0,9}\[INST\]")
_TURN_END = re.compile(
    r"(?P<token><\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|user|observation|im_start|start_header_id)\|>"
    r"|<｜end▁of▁sentence｜>|<｜User｜>|<end_of_turn>|<start_of_turn>|</s>)"
    r"(?=\s*(?:\n|$|<[|｜]|</?s>|<start|(?:human|user|question|assistant|system)\s?[:：]))",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Tidy:
    """A reply ready for reading, and descriptions of what was removed."""

    text: str
    dropped: tuple[str, ...]


def tidy(text: str) -> Tidy:
    """Returns the reply without what no reader should see. Text inside values is unchanged."""
    dropped: list[str] = []
    text = _uncoloured(_writable(text).strip(_EDGE))
    text = text[leading.end() :].strip(_EDGE) if (leading := _LEADING.match(text)) and leading.end() else text
    text, reasoned = without_reasoning(text)
    text = _unboxed(_without_lead(text.strip(_EDGE)))
    if reasoned:
        dropped.append("a reasoning block")
    shorter = trim_tokens(_first_turn(text.strip(_EDGE)))
    if shorter != text.strip(_EDGE):
        dropped.append("special tokens of the model and what followed them")
    return Tidy(_unfenced(shorter), tuple(dropped))


def _without_lead(text: str) -> str:
    """Returns the text without special tokens at its beginning, except those that announce a call."""
    lead = _LEADS.match(text)
    if lead is None or "<|channel|>" in lead.group().lower() or any(map(opens_call, _ONE.findall(lead.group()))):
        return text
    return text[lead.end() :]


def _unboxed(text: str) -> str:
    """Returns the text without tokens around its end (`<|begin_of_box|>4<|end_of_box|>`); a final block's content."""
    final = _FINAL_BLOCK.search(text)
    if final is not None:
        return final.group("held")
    box = _BOX_END.search(text, max(0, len(text) - 60))
    token = f"<|begin{box.group('of')}|>" if box is not None else ""
    begin = text.lower().rfind(token.lower()) if token and not opens_call(token) else -1
    if box is None or begin < 0 or quoted_in(text).holds(begin):
        return text
    return text[:begin] + text[begin + len(token) : box.start()]


def trim_tokens(text: str) -> str:
    """Returns the text without blanks and special tokens at its end."""
    while True:
        text = text.strip(_EDGE)
        tail = _TRAILING.search(text, max(0, len(text) - 300))
        if tail is None or (tail.group().strip() == "</s>" and "<s>" in text):
            return text
        kept = _opened(text, tail.start())
        text = text[: max(tail.start(), kept)]
        if kept > tail.start():
            return text


def _opened(text: str, start: int) -> int:
    """Returns the end of the last token after `start` that announces a tool call; 0 if there is none."""
    ends = [token.end() for token in re.finditer(_TOKEN, text[start:]) if opens_call(token.group())]
    return start + ends[-1] if ends else 0


def _first_turn(text: str) -> str:
    """Returns the text before a token that ends the turn; a token in a sentence or in quotes is data."""
    quoted = quoted_in(text)
    anew = _ASKED_ANEW.search(text, 0, text.rfind("[/INST]")) if "[/INST]" in text else None
    text = text if anew is None or quoted.holds(anew.end() - 1) else text[: anew.start()]
    for turn_end in islice(_TURN_END.finditer(text), 50):
        if quoted.holds(turn_end.start()):
            continue
        if turn_end.start() == 0 or text[turn_end.start() - 1] in "`'\"":
            continue
        if inside_string(text, turn_end.start(), turn_end.end()):
            continue
        if turn_end.group("token") == "</s>" and "<s>" in text[: turn_end.start()]:
            continue
        return text[: turn_end.start()]
    return text


def _unfenced(text: str) -> str:
    """Returns the content of a fence around the whole reply, if it begins with a label; else the text."""
    body = unwrap_whole(text)
    return body if body is not text and find_labels(body[:80]) else text


def _uncoloured(text: str) -> str:
    """Removes terminal colours if the reply begins with one."""
    return _COLOUR.sub("", text).strip(_EDGE) if _COLOUR.match(text) else text


def _writable(text: str) -> str:
    """Replaces half characters (lone surrogates), which cannot be stored; changes nothing else."""
    return text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text
