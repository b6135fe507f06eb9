"""What the practice model knows to ask tools about: one file a topic, tried in order."""

from __future__ import annotations

from collections.abc import Callable

from worker.simulator.records import Plan
from worker.simulator.topics import arithmetic, characters, clock, code, data, named, weather, web
from worker.simulator.topics.asking import Question

Topic = Callable[[Question], Plan | None]

_SPECIFIC: tuple[Topic, ...] = (
    named.plan,
    data.plan,
    web.page_plan,
    web.chart_plan,
    code.plan,
    characters.plan,
    clock.ahead_plan,
    clock.convert_plan,
    weather.plan,
    clock.now_plan,
    arithmetic.plan,
)


def plan_named(question: Question) -> Plan | None:
    """A plan where the question spells out a tool call."""
    return named.plan(question)


def plan_specific(question: Question) -> Plan | None:
    """A plan by the first topic that recognises the question and has its tools; None where none does."""
    return next((plan for topic in _SPECIFIC if (plan := topic(question)) is not None), None)


def plan_general(question: Question) -> Plan | None:
    """A web search, where that tool is listed."""
    return web.search_plan(question)
