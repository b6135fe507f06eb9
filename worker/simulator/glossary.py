"""Words of the weather in the languages that the practice model answers in: a tool's English line reads better so."""

from __future__ import annotations

import re

_ENGLISH = (
    "sunny", "clear", "partly cloudy", "cloudy", "overcast", "light rain", "rain", "drizzle", "snow", "fog",
    "thunderstorms", "humidity", "wind", "outdoors", "indoors",
)  # fmt: skip
_WORDS = {
    "zh": "晴|晴|局部多云|多云|阴|小雨|雨|毛毛雨|雪|雾|雷雨|湿度|风速|户外|室内",
    "ja": "晴れ|快晴|晴れ時々曇り|曇り|曇天|小雨|雨|霧雨|雪|霧|雷雨|湿度|風速|屋外|屋内",
    "es": "soleado|despejado|parcialmente nublado|nublado|cubierto|lluvia ligera|lluvia|llovizna|nieve|niebla"
    "|tormentas|humedad|viento|al aire libre|bajo techo",
    "de": "sonnig|klar|teils bewölkt|bewölkt|bedeckt|leichter Regen|Regen|Nieselregen|Schnee|Nebel"
    "|Gewitter|Luftfeuchte|Wind|im Freien|drinnen",
    "fr": "ensoleillé|dégagé|partiellement nuageux|nuageux|couvert|pluie légère|pluie|bruine|neige|brouillard"
    "|orages|humidité|vent|en plein air|à l'intérieur",
    "it": "soleggiato|sereno|parzialmente nuvoloso|nuvoloso|coperto|pioggia leggera|pioggia|pioviggine|neve|nebbia"
    "|temporali|umidità|vento|all'aperto|al chiuso",
    "pt": "ensolarado|céu limpo|parcialmente nublado|nublado|encoberto|chuva fraca|chuva|garoa|neve|nevoeiro"
    "|trovoadas|umidade|vento|ao ar livre|em lugar fechado",
    "ru": "солнечно|ясно|переменная облачность|облачно|пасмурно|небольшой дождь|дождь|морось|снег|туман"
    "|грозы|влажность|ветер|на открытом воздухе|в помещении",
    "ko": "맑음|맑음|구름 조금|흐림|흐림|가벼운 비|비|이슬비|눈|안개|뇌우|습도|바람|야외|실내",
}
_ANY = re.compile(r"\b(?:" + "|".join(sorted(_ENGLISH, key=len, reverse=True)) + r")\b")


def weather_in(language: str, text: str) -> str:
    """The text with the weather's words in `language`; English as it is."""
    if language not in _WORDS:
        return text
    words = dict(zip(_ENGLISH, _WORDS[language].split("|"), strict=True))
    return _ANY.sub(lambda match: words[match[0]], text)
