"""The subjects on which the practice model can use tools: one topic per file, tried in order."""

from __future__ import annotations

from collections.abc import Callable

from worker.practice.records import Plan
from worker.practice.topics import arithmetic, characters, chart, clock, files, weather
from worker.practice.topics.asking import Question

_TOPICS: tuple[Callable[[Question], Plan | None], ...] = (
    chart.plan,
    files.plan,
    characters.plan,
    clock.ahead_plan,
    clock.convert_plan,
    weather.plan,
    clock.now_plan,
    arithmetic.plan,
)


def plan(question: Question) -> Plan | None:
    """Returns the plan of the first topic that recognises the question and has its tools; None if none does."""
    return next((plan for topic in _TOPICS if (plan := topic(question)) is not None), None)
