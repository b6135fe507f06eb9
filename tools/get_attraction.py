"""A sight of a city that suits the weather, from a small demo table."""

from __future__ import annotations

from tools.base import ToolError, tool
from tools.kit.cities import DEMO_NOTE, find_city, known_cities

_WET = ("rain", "drizzle", "shower", "storm", "snow", "sleet", "hail", "thunder", "wet", "雨", "雪", "雷", "雹")


@tool(timeout_s=10.0, idempotent=True)
def get_attraction(city: str, weather: str) -> str:
    """Recommends one sight of a city that suits the weather. Ask for the weather first, with get_weather.

    Args:
        city: The city's name, such as "Beijing" or "北京".
        weather: The weather there, such as "sunny", "light rain" or "晴".
    """
    found = find_city(city)
    if found is None:
        raise ToolError(f'"{city}" is not in the demo table of sights. It holds {known_cities()}.')
    wet = any(word in weather.casefold() for word in _WET)
    sight, why = (found.indoors, "indoors") if wet else (found.outdoors, "outdoors")
    return f"{found.name}, weather {weather.strip()}: visit {sight}, which is {why}. ({DEMO_NOTE})"
