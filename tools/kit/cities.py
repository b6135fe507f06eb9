"""Well-known cities by their English and Chinese names: their time zones, and the demo table of weather and sights."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class City:
    """One city's invented weather and real sights: `outdoors` for dry weather, `indoors` for rain, snow and storms."""

    name: str
    other_names: tuple[str, ...]
    zone: str
    weather: str
    temperature_c: int
    humidity_percent: int
    wind_kmh: int
    outdoors: str
    indoors: str


CITIES = (
    City("Beijing", ("北京", "peking"), "Asia/Shanghai", "sunny", 22, 35, 12, "the Summer Palace", "the Palace Museum"),
    City("Shanghai", ("上海",), "Asia/Shanghai", "light rain", 19, 78, 15, "the Bund", "the Shanghai Museum"),
    City("Guangzhou", ("广州", "canton"), "Asia/Shanghai", "cloudy", 27, 70, 9, "Yuexiu Park", "the Guangdong Museum"),
    City(
        "Shenzhen", ("深圳",), "Asia/Shanghai", "thunderstorms", 28, 85, 20, "Lianhuashan Park", "the OCT Art Terminal"
    ),
    City("Chengdu", ("成都",), "Asia/Shanghai", "overcast", 18, 72, 6, "the Panda Base", "the Sichuan Museum"),
    City("Hangzhou", ("杭州",), "Asia/Shanghai", "partly cloudy", 21, 60, 10, "West Lake", "the China Silk Museum"),
    City("Hong Kong", ("香港", "hongkong"), "Asia/Hong_Kong", "sunny", 26, 65, 14, "Victoria Peak", "the M+ museum"),
    City("Tokyo", ("东京", "東京"), "Asia/Tokyo", "rain", 16, 82, 18, "Ueno Park", "the Tokyo National Museum"),
    City(
        "Singapore",
        ("新加坡",),
        "Asia/Singapore",
        "thunderstorms",
        30,
        88,
        11,
        "Gardens by the Bay",
        "the National Gallery",
    ),
    City("London", ("伦敦",), "Europe/London", "drizzle", 11, 86, 22, "Hyde Park", "the British Museum"),
    City("Paris", ("巴黎",), "Europe/Paris", "partly cloudy", 15, 58, 13, "the Luxembourg Garden", "the Louvre"),
    City(
        "New York", ("纽约", "new york city", "nyc"), "America/New_York", "clear", 13, 45, 17, "Central Park", "the Met"
    ),
    City("San Francisco", ("旧金山",), "America/Los_Angeles", "fog", 14, 80, 19, "Lands End", "the Exploratorium"),
    City("Sydney", ("悉尼",), "Australia/Sydney", "sunny", 24, 50, 21, "Bondi Beach", "the Australian Museum"),
)

DEMO_NOTE = "Demo data: from a fixed table, not a real observation."


def find_city(name: str) -> City | None:
    """Finds a city by any of its names, in any case; `Beijing, China` and `北京市` are Beijing."""
    key = " ".join(name.split(",")[0].split("，")[0].split()).casefold()
    return _BY_NAME.get(key) or _BY_NAME.get(key.removesuffix("市").removesuffix(" city"))


def known_cities() -> str:
    """Returns the names for a sentence."""
    return ", ".join(city.name for city in CITIES)


_BY_NAME = {name.casefold(): city for city in CITIES for name in (city.name, *city.other_names)}

ZONES = {name: city.zone for name, city in _BY_NAME.items()} | {
    "china": "Asia/Shanghai",
    "中国": "Asia/Shanghai",
    "japan": "Asia/Tokyo",
    "日本": "Asia/Tokyo",
    "india": "Asia/Kolkata",
    "印度": "Asia/Kolkata",
    "delhi": "Asia/Kolkata",
    "new delhi": "Asia/Kolkata",
    "mumbai": "Asia/Kolkata",
    "孟买": "Asia/Kolkata",
    "bangalore": "Asia/Kolkata",
    "washington": "America/New_York",
    "washington dc": "America/New_York",
    "华盛顿": "America/New_York",
    "boston": "America/New_York",
    "miami": "America/New_York",
    "洛杉矶": "America/Los_Angeles",
    "seattle": "America/Los_Angeles",
    "西雅图": "America/Los_Angeles",
    "芝加哥": "America/Chicago",
    "houston": "America/Chicago",
    "dallas": "America/Chicago",
    "柏林": "Europe/Berlin",
    "munich": "Europe/Berlin",
    "frankfurt": "Europe/Berlin",
    "法兰克福": "Europe/Berlin",
    "马德里": "Europe/Madrid",
    "罗马": "Europe/Rome",
    "milan": "Europe/Rome",
    "莫斯科": "Europe/Moscow",
    "首尔": "Asia/Seoul",
    "曼谷": "Asia/Bangkok",
    "台北": "Asia/Taipei",
    "迪拜": "Asia/Dubai",
    "abu dhabi": "Asia/Dubai",
    "开罗": "Africa/Cairo",
    "墨尔本": "Australia/Melbourne",
    "多伦多": "America/Toronto",
    "温哥华": "America/Vancouver",
    "圣保罗": "America/Sao_Paulo",
    "rio de janeiro": "America/Sao_Paulo",
    "geneva": "Europe/Zurich",
    "barcelona": "Europe/Madrid",
    "kyoto": "Asia/Tokyo",
    "osaka": "Asia/Tokyo",
    "大阪": "Asia/Tokyo",
}
"""Cities whose zone carries another city's name, and Chinese names."""
