"""Cities by the names that questions use, with their English names and time zones."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A place found in a question; `said` is how the question writes it."""

    name: str
    zone: str
    said: str


# English name | time zone | names in other languages
_CITIES = """
Beijing|Asia/Shanghai|北京
Tokyo|Asia/Tokyo|东京 東京
Seoul|Asia/Seoul|서울
Singapore|Asia/Singapore|新加坡
Berlin|Europe/Berlin|柏林
London|Europe/London|伦敦
Paris|Europe/Paris|巴黎 Париже
New York|America/New_York|纽约
"""
_KNOWN = {
    spelling: (name, zone)
    for name, zone, others in (line.split("|") for line in _CITIES.strip().splitlines())
    for spelling in (name, *others.split())
}
_PLACE = re.compile(
    rf"(?P<known>{'|'.join(_KNOWN)})"
    r"|\b(?P<zone>(?:Africa|America|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc)/[\w/+-]+)"
    r"|(?<=\bin )(?P<other>[A-ZÀ-Ý][\w'’-]+(?: [A-ZÀ-Ý][\w'’-]+)*)"
)


def places_in(text: str) -> tuple[Place, ...]:
    """Returns the cities and zone names in a text, in order, each once; an unknown name counts as its own zone."""
    places = (_place(match) for match in _PLACE.finditer(text))
    return tuple({place.name: place for place in places}.values())


def _place(match: re.Match[str]) -> Place:
    said = match["known"] or match["zone"] or match["other"]
    name, zone = _KNOWN.get(said, (said, said))
    return Place(name, zone, said)
