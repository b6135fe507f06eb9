"""The weather of a city."""

from __future__ import annotations

from tools.base import ToolError, tool
from tools.kit.cities import DEMO_NOTE, find_city, known_cities


@tool(group="web", timeout_s=20.0, idempotent=True)
def get_weather(city: str) -> str:
    """Tells the present weather of a city: sky, temperature, humidity and wind.

    Args:
        city: The city's name in any language, such as "Beijing" or "北京".
    """
    found = find_city(city)
    if found is None:
        raise ToolError(f'"{city}" is not in the demo table. It holds {known_cities()}.')
    return (
        f"{found.name}: {found.weather}, {found.temperature_c} °C, humidity {found.humidity_percent} %, "
        f"wind {found.wind_kmh} km/h. ({DEMO_NOTE})"
    )
