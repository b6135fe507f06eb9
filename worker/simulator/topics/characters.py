"""Counting characters: finds the text in quotes or by the words around it."""

from __future__ import annotations

import re

from worker.simulator.records import Plan
from worker.simulator.topics.arithmetic import value_of
from worker.simulator.topics.asking import Question, ask
from worker.simulator.topics.words import any_of, joined

_ASKED = any_of(
    r"character|letters?\b|how long is the (?:word|text)",
    r"字符|几个字|多少个?字|文字数|何文字|何字",
    r"caracteres|letras|Zeichen|Buchstaben|caractères|lettres|caratteri|lettere|символ|букв|글자",
)
_QUOTED = re.compile(r"(?:[\"“„«「『‘]|(?<!\w)')\s*(.+?)\s*(?:[\"”“»」』]|[’'](?!\w))")
_AFTER = re.compile(
    joined(
        r"in the (?:word|text|string|phrase|name)|in the|in",
        r"en la palabra|en|im Wort|hat(?: das Wort)?|dans le mot|dans|nella parola|na palavra|в слове",
    )
    + r"\s*:?\s*([^\s?？.。,，]+(?:\s+[^\s?？.。,，]+)*)\s*[?？.。]*\s*$",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"([^\s，,。：:「」]+?)(?:这几个字|这个词|这句话|一共)?\s*(?:有|共有|里有|中有|は|には)\s*(?:多少|几|何)"
)
_ONE = re.compile(
    joined(
        "how many times does (?:the )?(?:letter|character)?|the letter|letter",
        "la letra|Buchstaben?|lettre|lettera|буква",
    )
    + r"\b\s*[\"“'‘「«]?(\w)[\"”'’」»]?\s"
    r"|字母\s*[\"“‘「]?(\w)"
    r"|how many [\"“'‘]?(\w)[\"”'’]?(?:'?s) ",
    re.IGNORECASE,
)


def plan(question: Question) -> Plan | None:
    """A plan where the question asks to count characters of a text that it holds."""
    if not question.has("count_characters") or not (_ASKED.search(question.text) or _ONE.search(question.text)):
        return None
    one = _ONE.search(question.text)
    character = next((group for group in one.groups() if group), None) if one else None
    text = _text_in(question.text, character)
    return _count(question, text, character) if text else None


def _text_in(asked: str, character: str | None) -> str | None:
    quoted = [match[1] for match in _QUOTED.finditer(asked) if match[1] != character]
    if quoted:
        return quoted[-1]
    for pattern in (_AFTER, _BEFORE):
        if match := pattern.search(asked):
            return match[1]
    return None


def _count(question: Question, text: str, character: str | None) -> Plan:
    tool = question.tools["count_characters"]
    args = {tool.pick("text", "string"): text}
    if character is not None:
        args[tool.pick("character", "char")] = character
    observed = yield from ask(question, question.call("count_characters", **args))
    return question.say("unknown") if observed.failed else question.answer(_number(observed.text, value_of(observed)))


def _number(observed: str, otherwise: str) -> str:
    """The count: the number nearest to the word for it, for observations that name other numbers too."""
    match = re.search(r"(\d+)\s+(?:\w+\s+)?(?:characters?|times?|occurrences?)", observed)
    return match[1] if match else otherwise
