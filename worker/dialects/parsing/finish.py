"""Reads `Finish[…]` and the variants that models write."""

from __future__ import annotations

import re

from worker.dialects.parsing.arguments import Refused
from worker.dialects.parsing.brackets import TwoReadings, closing
from worker.dialects.parsing.calls import read_call
from worker.dialects.parsing.labelled import Bad, Outcome, Said
from worker.dialects.parsing.labels import Kind, Label
from worker.dialects.parsing.page import Page, answer_end
from worker.dialects.parsing.strings import Unreadable, read_string

FINISH_COLON = re.compile(r"\s*[`*]{0,3}(?:finish|final answer|answer)[`*]{0,3}[ \t]*[:：](?=\s*\S)", re.I)
FINISH_OPENS = re.compile(r"\s*[`*]{0,3}(?P<name>finish|final answer)[ \t]*(?P<open>[\[(])", re.I)
_KEYS = ("answer", "final_answer", "result", "text", "content", "output", "response")


def finish(page: Page, opening: re.Match[str], start: int) -> Outcome:
    """Reads the answer that follows `Finish` in brackets or parentheses."""
    begin = opening.end()
    end, turn = answer_end(page, Label(Kind.ANSWER, start, begin, ""))
    if opening.group("open") == "[":
        return _bracketed(page, start, begin, end, turn)
    return _called(page, start, begin, end, turn)


def finish_colon(page: Page, start: int, begin: int) -> Outcome:
    """Reads `Finish: the answer`, with a colon instead of brackets."""
    end, turn = answer_end(page, Label(Kind.ANSWER, start, begin, ""))
    text = page.text[begin:end].strip()
    return Said(text, start, end, turn) if text else Bad("The answer is empty.")


def _bracketed(page: Page, start: int, begin: int, end: int, turn: Label | None) -> Outcome:
    for limit in dict.fromkeys((end, len(page.text))):
        try:
            close = closing(page.text[:limit], begin, 1)
        except TwoReadings:
            return Bad("Brackets in the answer make its end unclear; balance them.")
        if close is not None:
            text = _unnamed(page.text[begin:close].strip())
            return Said(text, start, close + 1, turn) if text else Bad("The answer is empty.")
    text = page.text[begin:end].strip()
    if page.finished and text and turn is None and "[" not in text:
        return Said(text, start, end)
    return Bad("Finish[…] is not closed, so the answer may have been cut off.")


def _unnamed(text: str) -> str:
    """Returns the string alone if the brackets hold `answer="…"`."""
    named = re.match(r"(?:answer|final_answer|content)\s*=\s*(?=[\"'])", text)
    if named is None:
        return text
    try:
        value, end = read_string(text, named.end())
    except Unreadable:
        return text
    return value.strip() if end == len(text) else text


def _called(page: Page, start: int, begin: int, end: int, turn: Label | None) -> Outcome:
    """Reads `Finish("…")` or `Finish(answer="…")`; without quotes, the text up to the answer's last parenthesis."""
    given = read_call(page.text, begin, None, (), went_on=page.finished)
    if isinstance(given, Refused):
        return _unquoted(page, start, begin, end, turn)
    args = given.args
    if isinstance(args, dict) and len(args) == 1 and next(iter(args)) in _KEYS:
        args = next(iter(args.values()))
    if isinstance(args, str) and args.strip():
        return Said(args.strip(), start, given.end, turn)
    return Bad("Write the answer as Finish[the answer].")


def _unquoted(page: Page, start: int, begin: int, end: int, turn: Label | None) -> Outcome:
    text = page.text[begin:end].rstrip("` \t\r\n")
    quoted = re.match(r"\s*[fFrRbB]{0,2}[\"'“]", text) or re.match(r"\s*\w+\s*=", text)
    if quoted or not text.endswith(")") or text.count("(") != text.count(")") - 1:
        return Bad("Write the answer as Finish[the answer].")
    return Said(text[:-1].strip(), start, end, turn) if text[:-1].strip() else Bad("The answer is empty.")
