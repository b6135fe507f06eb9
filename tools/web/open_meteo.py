"""Open-Meteo's keyless services: where a place is, and its weather now and in the coming days."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from tools.config import ToolSettings
from tools.kit.context import ToolContext
from tools.kit.errors import ToolError
from tools.web.json_api import ask

_NOW = "temperature_2m,apparent_temperature,relative_humidity_2m,precipitation,weather_code,wind_speed_10m"
_DAYS = "weather_code,temperature_2m_max,temperature_2m_min,precipitation_probability_max"
_SKY = {
    0: "clear sky",
    1: "mainly clear",
    2: "partly cloudy",
    3: "overcast",
    45: "fog",
    48: "freezing fog",
    51: "light drizzle",
    53: "drizzle",
    55: "dense drizzle",
    56: "light freezing drizzle",
    57: "freezing drizzle",
    61: "light rain",
    63: "rain",
    65: "heavy rain",
    66: "light freezing rain",
    67: "freezing rain",
    71: "light snow",
    73: "snow",
    75: "heavy snow",
    77: "snow grains",
    80: "light showers",
    81: "showers",
    82: "violent showers",
    85: "snow showers",
    86: "heavy snow showers",
    95: "thunderstorm",
    96: "thunderstorm with hail",
    99: "thunderstorm with heavy hail",
}
"""The weather codes of the World Meteorological Organization that the service uses."""


async def weather(city: str, days: int, settings: ToolSettings, context: ToolContext) -> str:
    """Makes two requests: the place, then its weather. Raises ToolError."""
    place = await _place(city, settings, context)
    query: dict[str, object] = {"latitude": place["latitude"], "longitude": place["longitude"], "timezone": "auto"}
    query["current"] = _NOW
    if days:
        query |= {"daily": _DAYS, "forecast_days": days}
    found = await ask(settings.weather_url, query, context, "The weather service")
    now = found.get("current")
    if not isinstance(now, dict):
        raise ToolError("The weather service answered without the present weather. Try another way.")
    name = ", ".join(str(place[part]) for part in ("name", "admin1", "country") if place.get(part))
    when = str(now.get("time", "")).replace("T", " ")
    zone = f" {found['timezone']}" if found.get("timezone") else ""
    return "\n".join([f"{name}, {when}{zone}: {_now(now)} (Open-Meteo)", *_forecast(found.get("daily"))])


async def _place(city: str, settings: ToolSettings, context: ToolContext) -> Mapping[str, Any]:
    """Returns the best-known place with that name; text after a comma must occur in its country or region."""
    name, *more = [part.strip() for part in city.replace("，", ",").split(",")]
    language = "zh" if any("CJK" in unicodedata.name(sign, "") for sign in name) else "en"
    query = {"name": name, "count": 10, "language": language, "format": "json"}
    found = await ask(settings.geocoding_url, query, context, "The search for places")
    results = found.get("results")
    places = [place for place in results if _usable(place)] if isinstance(results, list) else []
    wanted = [word.casefold() for word in more if word]
    fitting = [place for place in places if all(any(word in text for text in _region(place)) for word in wanted)]
    if not fitting:
        known = "; ".join(f"{place.get('name')}, {place.get('country', '')}" for place in places[:5])
        hint = f" There are: {known}." if known else " Check the spelling, or name a larger town nearby."
        raise ToolError(f'No place called "{city}" was found.{hint}')
    best: Mapping[str, Any] = fitting[0]
    return best


def _usable(place: Any) -> bool:
    return isinstance(place, dict) and all(isinstance(place.get(key), int | float) for key in ("latitude", "longitude"))


def _region(place: Mapping[str, Any]) -> list[str]:
    return [str(place.get(key, "")).casefold() for key in ("country", "country_code", "admin1", "admin2")]


def _now(now: Mapping[str, Any]) -> str:
    parts = [
        _sky(now.get("weather_code")),
        f"{now.get('temperature_2m', '?')} °C (feels like {now.get('apparent_temperature', '?')} °C)",
        f"humidity {now.get('relative_humidity_2m', '?')} %",
        f"wind {now.get('wind_speed_10m', '?')} km/h",
        f"precipitation {now.get('precipitation', '?')} mm",
    ]
    return ", ".join(parts)


def _forecast(daily: Any) -> list[str]:
    if not isinstance(daily, dict) or not isinstance(daily.get("time"), list):
        return []
    return [
        f"{day}: {_sky(_at(daily, 'weather_code', place))}, {_at(daily, 'temperature_2m_min', place)} to "
        f"{_at(daily, 'temperature_2m_max', place)} °C, rain {_at(daily, 'precipitation_probability_max', place)} %"
        for place, day in enumerate(daily["time"])
    ]


def _at(daily: Mapping[str, Any], key: str, place: int) -> Any:
    values = daily.get(key)
    return values[place] if isinstance(values, list) and place < len(values) else "?"


def _sky(code: Any) -> str:
    return _SKY.get(code, "unknown sky") if isinstance(code, int) else "unknown sky"
