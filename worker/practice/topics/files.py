"""A file that the question names."""

from __future__ import annotations

import re

from worker.practice.records import Call, Plan
from worker.practice.topics.asking import Question, ask

_FILE = re.compile(r"\bfile ([\w./-]*\w\.\w{1,5})\b")


def plan(question: Question) -> Plan | None:
    """Plans for `What does the file stock.txt say?`"""
    match = _FILE.search(question.text)
    if match is None or not question.has("read_file"):
        return None
    return _tell(question, question.text_call("read_file", match[1], "path", "name"))


def _tell(question: Question, call: Call) -> Plan:
    observed = yield from ask(question, call)
    return question.say("unknown") if observed.failed else question.answer(observed.text)
