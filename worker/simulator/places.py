"""Cities by the names that questions use, with their English names and time zones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Place:
    """A city found in a question; `said` is how the question writes it."""

    name: str
    zone: str
    said: str


# English name | zone | other spellings
_CITIES = """
Beijing|Asia/Shanghai|北京 Pekín Peking Pékin Pechino Pequim Пекин Пекине 베이징
Shanghai|Asia/Shanghai|上海 Schanghai Xangai Шанхай Шанхае 상하이
Hong Kong|Asia/Hong_Kong|香港 Hongkong Гонконг Гонконге 홍콩
Tokyo|Asia/Tokyo|东京 東京 Tokio Tóquio Токио 도쿄
Osaka|Asia/Tokyo|大阪 Осака
Kyoto|Asia/Tokyo|京都 Kioto Киото
Seoul|Asia/Seoul|首尔 ソウル Seúl Séoul Сеул Сеуле 서울
Singapore|Asia/Singapore|新加坡 シンガポール Singapur Singapour Сингапур Сингапуре 싱가포르
Bangkok|Asia/Bangkok|曼谷 バンコク Бангкок 방콕
Mumbai|Asia/Kolkata|孟买 ムンバイ Мумбаи Bombay
Delhi|Asia/Kolkata|德里 デリー Дели
Dubai|Asia/Dubai|迪拜 ドバイ Dubái Dubaï Дубай 두바이
Istanbul|Europe/Istanbul|伊斯坦布尔 イスタンブール Estambul Стамбул
Moscow|Europe/Moscow|莫斯科 モスクワ Moscú Moskau Moscou Mosca Москва Москве 모스크바
London|Europe/London|伦敦 ロンドン Londres Londra Лондон Лондоне 런던
Paris|Europe/Paris|巴黎 パリ París Parigi Париж Париже 파리
Berlin|Europe/Berlin|柏林 ベルリン Berlín Berlino Berlim Берлин Берлине 베를린
Munich|Europe/Berlin|慕尼黑 ミュンヘン München Múnich Monaco
Vienna|Europe/Vienna|维也纳 ウィーン Wien Viena Vienne Вена
Zurich|Europe/Zurich|苏黎世 チューリッヒ Zürich Zúrich
Rome|Europe/Rome|罗马 ローマ Roma Rom Рим Риме 로마
Madrid|Europe/Madrid|马德里 マドリード Мадрид 마드리드
Barcelona|Europe/Madrid|巴塞罗那 バルセロナ Barcelone
Lisbon|Europe/Lisbon|里斯本 リスボン Lisboa Lissabon Lisbonne
Amsterdam|Europe/Amsterdam|阿姆斯特丹 アムステルダム Ámsterdam
Stockholm|Europe/Stockholm|斯德哥尔摩 ストックホルム Estocolmo
Oslo|Europe/Oslo|奥斯陆 オスロ
Helsinki|Europe/Helsinki|赫尔辛基 ヘルシンキ
Athens|Europe/Athens|雅典 アテネ Atenas Athen Athènes
Cairo|Africa/Cairo|开罗 カイロ Kairo Caire Каир
Nairobi|Africa/Nairobi|内罗毕 ナイロビ
Lagos|Africa/Lagos|拉各斯 ラゴス
Johannesburg|Africa/Johannesburg|约翰内斯堡
New York|America/New_York|纽约 ニューヨーク Nueva_York Nova_York Нью-Йорк Нью-Йорке 뉴욕
Boston|America/New_York|波士顿 ボストン
Toronto|America/Toronto|多伦多 トロント
Chicago|America/Chicago|芝加哥 シカゴ Чикаго
Mexico City|America/Mexico_City|墨西哥城 Ciudad_de_México Mexiko-Stadt
Denver|America/Denver|丹佛
Los Angeles|America/Los_Angeles|洛杉矶 ロサンゼルス Лос-Анджелес
San Francisco|America/Los_Angeles|旧金山 サンフランシスコ
Seattle|America/Los_Angeles|西雅图 シアトル
São Paulo|America/Sao_Paulo|圣保罗 サンパウロ Sao_Paulo
Buenos Aires|America/Argentina/Buenos_Aires|布宜诺斯艾利斯 ブエノスアイレス
Sydney|Australia/Sydney|悉尼 シドニー Sídney Сидней
Auckland|Pacific/Auckland|奥克兰 オークランド
Reykjavik|Atlantic/Reykjavik|雷克雅未克 レイキャビク
UTC|UTC|GMT
"""


def _names() -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for line in _CITIES.strip().splitlines():
        name, zone, others = line.split("|")
        for spelling in (name, *(other.replace("_", " ") for other in others.split())):
            found[spelling.lower()] = (name, zone)
    return found


_BY_NAME = _names()
_ANY = re.compile(
    "|".join(
        rf"\b{re.escape(name)}\b" if name[0].isascii() or "а" <= name[0] <= "я" else re.escape(name)
        for name in sorted(_BY_NAME, key=len, reverse=True)
    ),
    re.IGNORECASE,
)
_ZONE = re.compile(r"\b(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc)/[\w/+-]+")
_UNLISTED = re.compile(r"\b(?:in|at|en|à|a|em|for|für)\s+((?:[A-ZÀ-Ý][\w'’-]+)(?:\s+[A-ZÀ-Ý][\w'’-]+)*)")


@lru_cache(maxsize=1024)
def places_in(text: str) -> tuple[Place, ...]:
    """Cities and zone names in the order of the text, each once."""
    found: list[tuple[int, Place]] = [(m.start(), Place(m[0], m[0], m[0])) for m in _ZONE.finditer(text)]
    for match in _ANY.finditer(_ZONE.sub(lambda m: " " * len(m[0]), text)):
        name, zone = _BY_NAME[match[0].lower()]
        found.append((match.start(), Place(name, zone, match[0])))
    by_name = {place.name: place for _, place in sorted(found, key=lambda item: item[0], reverse=True)}
    return tuple(reversed(by_name.values()))


def city_in(text: str) -> str | None:
    """The first city's English name; a capitalised name after a preposition where the table has none."""
    places = places_in(text)
    if places:
        return places[0].name
    match = _UNLISTED.search(text)
    return match[1] if match else None
