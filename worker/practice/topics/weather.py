"""Weather of a city, and a sight that suits it."""

from __future__ import annotations

import re

from worker.practice.places import Place, places_in
from worker.practice.records import Call, Plan
from worker.practice.topics.asking import Question, ask, first_line

_WEATHER = re.compile("weather|天气|天気|погод", re.IGNORECASE)
_SIGHT = re.compile("sight|景点|観光|достопримечательн", re.IGNORECASE)


def plan(question: Question) -> Plan | None:
    """Returns a plan if the question asks for the weather of a place, and maybe for a sight there."""
    places = places_in(question.text)
    if not places or not _WEATHER.search(question.text) or not question.has("get_weather"):
        return None
    return _weather(question, places[0])


def _weather(question: Question, place: Place) -> Plan:
    weather = yield from ask(question, question.text_call("get_weather", place.name, "city", "location"))
    if weather.failed:
        return question.say("unknown")
    line = first_line(weather)
    answers = [question.say("weather", line).answer]
    if question.has("get_attraction") and _SIGHT.search(question.text):
        tool = question.tools["get_attraction"]
        args = {tool.pick("city", "place"): place.name, tool.pick("weather", "condition"): _condition(line)}
        sight = yield from ask(question, Call("get_attraction", args))
        answers += [] if sight.failed else [question.say("sight", first_line(sight)).answer]
    return question.answer("\n".join(answers))


def _condition(line: str) -> str:
    """Returns `light rain` for `Beijing: light rain, 3 °C`."""
    return line.partition(":")[2].partition(",")[0].strip() or line
