"""The weather of a city, from Open-Meteo; from a demo table only if the operator says that there is no network."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tools.base import ToolContext, ToolError, tool
from tools.config import ToolSettings
from tools.kit.cities import DEMO_NOTE, find_city, known_cities


@tool(group="web", timeout_s=30.0, idempotent=True)
async def get_weather(city: str, context: ToolContext, days: Annotated[int, Field(ge=0, le=7)] = 0) -> str:
    """Tells the present weather of a city: sky, temperature, humidity and wind; and the forecast, if asked for.

    Args:
        city: The city's name in any language, such as "Beijing" or "北京"; "Paris, Texas" tells which one.
        days: For how many days, today included, to forecast.
    """
    settings = ToolSettings.of(context.settings)
    if settings.weather_offline:
        return _from_the_table(city, days)
    from tools.web.open_meteo import weather  # imported when it runs: loading the registry stays quick

    return await weather(city, days, settings, context)


def _from_the_table(name: str, days: int) -> str:
    city = find_city(name)
    if city is None:
        raise ToolError(f'"{name}" is not in the demo table of weather. It holds {known_cities()}.')
    forecast = " The table holds no forecast." if days else ""
    return (
        f"{city.name}: {city.weather}, {city.temperature_c} °C, humidity {city.humidity_percent} %, "
        f"wind {city.wind_kmh} km/h. ({DEMO_NOTE}{forecast})"
    )
