"""A chart of figures that must be found first: a search, pages until one contains figures, a program that draws."""

from __future__ import annotations

import re

from worker.practice.records import Observation, Plan
from worker.practice.topics.asking import Question, ask, first_line

_CHART = re.compile(r"\bchart\b", re.IGNORECASE)
_LINK = re.compile(r"https?://[^\s<>\"'`)\]]+")
_FIGURES = re.compile(r"(\d{4}-\d{2}-\d{2})[^\d\n]{1,20}?(\d+(?:\.\d+)?)(?![\d-])")
_PAGES = 3
_PROGRAM = """\
import matplotlib.pyplot as plt
days = {days}
values = {values}
plt.plot(days, values, marker='o')
plt.xticks(rotation=45)
plt.tight_layout()
plt.savefig('chart.png')
print('chart.png drawn from', len(values), 'values')"""


def plan(question: Question) -> Plan | None:
    """Returns a plan if a chart is asked for and every tool for it is listed."""
    needed = question.has("web_search", "fetch_url", "python_executor", "current_time")
    return _chart(question) if needed and _CHART.search(question.text) else None


def _chart(question: Question) -> Plan:
    found = yield from ask(question, question.text_call("web_search", question.text, "query"))
    for link in _LINK.findall(found.text)[:_PAGES]:
        page = yield from ask(question, question.text_call("fetch_url", link, "url"))
        if figures := _FIGURES.findall(page.text):
            break
    else:
        return question.say("unknown")
    program = _PROGRAM.format(days=[day for day, _ in figures], values=[float(value) for _, value in figures])
    drawn = yield from ask(question, question.text_call("python_executor", program, "code"))
    if drawn.failed:
        return question.say("unknown")
    seen = yield from ask(question, question.text_call("current_time", "UTC", "timezone"))
    return question.answer(f"{drawn.text}\n\nSource: {_title(found, link)}, {link}, {first_line(seen)}")


def _title(found: Observation, link: str) -> str:
    """Returns the line before the link, without its number."""
    before = found.text.partition(link)[0].strip().splitlines()
    return before[-1].strip(" 0123456789.*#-:(<") if before else link
