"""Counting characters: finds the text in quotes or by the words around it."""

from __future__ import annotations

import re

from worker.practice.records import Call, Observation, Plan
from worker.practice.topics.asking import Question, ask, numbers_in

_COUNTING = re.compile("characters|letters?|字符", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“]\s*(.+?)\s*[\"”]")
_UNQUOTED = re.compile(r"\bin (\S[^?]*?)\s*\?|(\S+?)有几个", re.IGNORECASE)
_ONE = re.compile(r"\bthe letter (\w)\b", re.IGNORECASE)


def plan(question: Question) -> Plan | None:
    """Returns a plan if the question asks to count characters of a text in it."""
    if not question.has("count_characters") or not _COUNTING.search(question.text):
        return None
    match = _QUOTED.search(question.text) or _UNQUOTED.search(question.text)
    if match is None:
        return None
    tool, one = question.tools["count_characters"], _ONE.search(question.text)
    args = {tool.pick("text", "string"): next(filter(None, match.groups()))}
    if one:
        args[tool.pick("character", "char")] = one[1]
    return _count(question, Call("count_characters", args))


def _count(question: Question, call: Call) -> Plan:
    observed = yield from ask(question, call)
    return question.say("unknown") if observed.failed else question.answer(_number(observed))


def _number(observed: Observation) -> str:
    """Returns the first number that is not quoted; the whole text if there is none."""
    numbers = numbers_in(_QUOTED.sub("", observed.text))
    return numbers[0] if numbers else observed.text
