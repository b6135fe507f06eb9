"""Weather of a city, and a sight that suits it."""

from __future__ import annotations

import re

from worker.simulator.places import city_in
from worker.simulator.records import Plan
from worker.simulator.topics.asking import Question, ask, first_line

_WEATHER = re.compile(
    r"weather|forecast|raining|sunny|temperature|天气|气温|天気|気温|el tiempo|tiempo hace|clima|Wetter|météo|temps (?:qu'il )?fait|quel temps"
    r"|che tempo|meteo|previsão|o tempo\b|погод|날씨",
    re.IGNORECASE,
)
_SIGHT = re.compile(
    r"sight|attraction|visit\b|go to see|景点|去哪|游玩|观光|観光|名所|lugar|atracción|visitar|Sehenswürdigkeit|Ausflug|besuchen|visiter|attrait"
    r"|site (?:à|qui)|attrazion|visitare|atração|passeio|достопримечательн|명소|관광",
    re.IGNORECASE,
)
_CONDITIONS = (
    "sunny",
    "clear",
    "partly cloudy",
    "cloudy",
    "overcast",
    "rainy",
    "rain",
    "snowy",
    "snow",
    "foggy",
    "fog",
    "windy",
    "storm",
    "drizzle",
    "haze",
    "hot",
    "cold",
)


def plan(question: Question) -> Plan | None:
    """A plan where the question names a city and asks for its weather, a sight, or both."""
    wants_sight = bool(_SIGHT.search(question.text)) and question.has("get_attraction")
    wants_weather = bool(_WEATHER.search(question.text))
    city = city_in(question.text)
    if city is None or not (wants_weather or wants_sight) or not question.has("get_weather"):
        return None
    return _weather(question, city, wants_sight)


def _weather(question: Question, city: str, wants_sight: bool) -> Plan:
    weather = yield from ask(question, question.text_call("get_weather", city, "city", "place", "location"))
    if weather.failed:
        return question.say("unknown")
    told = question.say("weather", first_line(weather))
    if not wants_sight:
        return told
    tool = question.tools["get_attraction"]
    args = {tool.pick("city", "place"): city, tool.pick("weather", "condition"): condition_in(weather.text)}
    sight = yield from ask(question, question.call("get_attraction", **args))
    if sight.failed:
        return told
    return question.answer(f"{told.answer} {question.say('sight', first_line(sight)).answer}")


def condition_in(text: str) -> str:
    """The word for the weather within an observation, or its first line where none is known."""
    found = [(text.lower().find(word), -len(word), word) for word in _CONDITIONS if word in text.lower()]
    return min(found)[2] if found else text.strip().splitlines()[0]
