"""Time: now, here and elsewhere; one zone's time in another; a time some hours or days away."""

from __future__ import annotations

import re
from collections.abc import Sequence

from worker.practice.phrases import dated
from worker.practice.places import Place, places_in
from worker.practice.records import Call, Observation, Plan
from worker.practice.topics.asking import Question, ask, ask_all, first_line

_SPAN = re.compile(r"(?P<days>\d+) (?:days?|jours?|Tagen?)\b|(?P<hours>\d+) (?:hours?|heures?|Stunden?)\b")
_AHEAD = re.compile(r"from now|\bafter\b|\bin \d|\bdans \d", re.IGNORECASE)
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_CLOCK = re.compile(r"(?<![\d:])\d{1,2}:\d{2}(?![\d:])")
_NOW = re.compile(r"what time|the time\b|today|qué hora|时间|今天|几点|몇 시", re.IGNORECASE)
_APART = re.compile("compared|difference|相差", re.IGNORECASE)
_MOMENT = re.compile(r"(?:\w+, )?\d{4}-\d{2}-\d{2} \d{2}:\d{2}(?::\d{2})?(?: \([^()]*\))?")


def ahead_plan(question: Question) -> Plan | None:
    """Plans for `100 hours from now`, `45 days after 2026-03-01`."""
    spans = list(_SPAN.finditer(question.text))
    if not spans or not question.has("date_add") or not _AHEAD.search(question.text):
        return None
    args: dict[str, object] = {unit: int(n) for span in spans for unit, n in span.groupdict().items() if n}
    if date := _DATE.search(question.text):
        args[question.tools["date_add"].pick("start", "date")] = date[0]
    return _tell(question, Call("date_add", args))


def convert_plan(question: Question) -> Plan | None:
    """Plans for `When it is 15:30 in Berlin, what time is it in Tokyo?`"""
    places, clock = places_in(question.text), _CLOCK.search(question.text)
    if len(places) < 2 or clock is None or not question.has("convert_time"):
        return None
    return _tell(question, _conversion(question, clock[0], places))


def now_plan(question: Question) -> Plan | None:
    """Plans for the time here, in one place, or in several compared."""
    if not question.has("current_time") or not _NOW.search(question.text):
        return None
    places = places_in(question.text)
    if len(places) > 1:
        return _compare(question, places)
    return _tell(question, _now(question, places[0].zone if places else "UTC"))


def _now(question: Question, zone: str) -> Call:
    return question.text_call("current_time", zone, "timezone", "zone")


def _conversion(question: Question, time: str, places: Sequence[Place]) -> Call:
    tool = question.tools["convert_time"]
    names = (tool.pick("time"), tool.pick("from_timezone"), tool.pick("to_timezone"))
    return Call("convert_time", dict(zip(names, (time, places[0].zone, places[1].zone), strict=True)))


def _tell(question: Question, call: Call) -> Plan:
    observed = yield from ask(question, call)
    return question.say("unknown") if observed.failed else question.say("time", _moment(question, observed)[0])


def _compare(question: Question, places: Sequence[Place]) -> Plan:
    """Tells each place's time, and what a conversion says about the two if the difference is asked for."""
    calls = [_now(question, place.zone) for place in places]
    if apart := question.has("convert_time") and bool(_APART.search(question.text)):
        calls.append(_conversion(question, "now", places))
    observed = yield from ask_all(question, tuple(calls))
    if any(one.failed for one in observed):
        return question.say("unknown")
    clocks = zip(places, observed, strict=False)
    lines = [f"{place.said}: {_moment(question, one)[0]}" for place, one in clocks]
    return question.answer("\n".join([*lines, _moment(question, observed[-1])[1]] if apart else lines))


def _moment(question: Question, observed: Observation) -> tuple[str, str]:
    """Returns the last timestamp in a tool's result, which is what was asked for, and the text after it."""
    moments = list(_MOMENT.finditer(observed.text))
    if not moments:
        return first_line(observed), ""
    return dated(question.language, moments[-1][0]), observed.text[moments[-1].end() :].lstrip(". ")
