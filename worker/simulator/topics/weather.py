"""Weather of a city, and a sight that suits it."""

from __future__ import annotations

import re

from worker.simulator.glossary import weather_in
from worker.simulator.phrases import phrase
from worker.simulator.places import city_in
from worker.simulator.records import Observation, Plan
from worker.simulator.topics.asking import Question, ask, first_line
from worker.simulator.topics.words import any_of

_WEATHER = any_of(
    "weather|forecast|raining|sunny|temperature|天气|气温|天気|気温|날씨",
    "el tiempo|tiempo hace|clima|Wetter|météo|temps (?:qu'il )?fait|quel temps",
    r"che tempo|meteo|previsão|o tempo\b|погод",
)
_SIGHT = any_of(
    r"sight|attraction|visit\b|go to see|景点|去哪|游玩|观光|観光|名所|명소|관광",
    "lugar|atracción|visitar|Sehenswürdigkeit|Ausflug|besuchen|visiter|attrait|site (?:à|qui|touristique)",
    "attrazion|visitare|luogo|atração|passeio|достопримечательн",
)
_CONDITIONS = (
    *("sunny", "clear", "partly cloudy", "cloudy", "overcast", "light rain", "rain", "drizzle", "snow", "sleet"),
    *("thunderstorm", "storm", "fog", "haze", "wind", "hail", "shower"),
)
_DEMO = re.compile(r"\s*\((?:[^()]*\bdemo data[^()]*)\)", re.IGNORECASE)


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
    told = question.say("weather", weather_in(question.language, _plain(weather)))
    note = f" {phrase(question.language, 'demo')}" if _DEMO.search(weather.text) else ""
    if not wants_sight:
        return question.answer(told.answer + note)
    tool = question.tools["get_attraction"]
    args = {tool.pick("city", "place"): city, tool.pick("weather", "condition"): condition_in(weather.text)}
    sight = yield from ask(question, question.call("get_attraction", **args))
    if sight.failed:
        return question.answer(told.answer + note)
    return question.answer(
        f"{told.answer} {question.say('sight', weather_in(question.language, _sight(sight))).answer}{note}"
    )


def condition_in(text: str) -> str:
    """The word for the weather within an observation, or its first line where none is known."""
    found = [(text.lower().find(word), -len(word), word) for word in _CONDITIONS if word in text.lower()]
    return min(found)[2] if found else first_line(Observation(text))


def _plain(observed: Observation) -> str:
    """The first line without the note that marks demo data; the answer says so in the question's language."""
    return _DEMO.sub("", first_line(observed)).rstrip(". ")


def _sight(observed: Observation) -> str:
    """The sight's name with its kind, where the observation recommends one in so many words."""
    line = _plain(observed)
    recommended = re.search(r"\bvisit (.+?), which is (\w+)", line)
    return f"{recommended[1]} ({recommended[2]})" if recommended else line
