"""Time: now, here and elsewhere; a time of one zone in another; a moment some hours or days away."""

from __future__ import annotations

import re

from worker.simulator.places import Place, places_in
from worker.simulator.records import Call, Plan
from worker.simulator.topics.asking import Question, ask, ask_all, first_line

_UNITS = (
    ("weeks", r"weeks?|周|星期|週間|semanas?|Wochen?|semaines?|settimane|недел\w+|주"),
    ("days", r"days?|天|日|días?|dias?|Tage?n?|jours?|giorn[io]|дн\w+|день|일"),
    ("hours", r"hours?|hrs?|个?小时|個?小時|時間|horas?|Stunden?|heures?|or[ae]|час\w*|시간"),
    ("minutes", r"minutes?|mins?|分钟|分|minutos?|Minuten?|minut[io]|минут\w*|분"),
)
_AHEAD = re.compile(
    r"from now|\bin\b|\bafter\b|later|\bago\b|before|后|後|以后|之后|之前|前|dentro de|hace|vor|nach|dans|il y a|tra|fra|fa\b|daqui a|há|через|назад|후|뒤|전",
    re.IGNORECASE,
)
_BACK = re.compile(r"\bago\b|before|之前|前|hace\b|\bvor\b|il y a|\bfa\b|\bhá\b|назад|전", re.IGNORECASE)
_DATE = re.compile(r"\b(\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2})?)\b")
_CLOCK = re.compile(
    r"(?<![\d:])(\d{1,2}):(\d{2})(?!\d)|(?<!\d)(\d{1,2})\s*(a\.?m\.?|p\.?m\.?)(?!\w)|(?<!\d)(\d{1,2})\s*[点點時](?!間)",
    re.IGNORECASE,
)
_NOW = re.compile(
    r"what(?:'s| is)? (?:the )?(?:current )?time|time is it|current time|what (?:week)?day|which (?:week)?day|what date|today|weekday|\btime in\b|\btime\b"
    r"|几点|星期几|时间|時間|今天|何時|何曜日|qué hora|hora|qué día|Uhr|spät|Wochentag|Uhrzeit|quelle heure|quel jour|l'heure|che ora|che ore|che giorno"
    r"|que horas|que dia|который час|сколько времени|время|день недели|몇 시|무슨 요일",
    re.IGNORECASE,
)


def ahead_plan(question: Question) -> Plan | None:
    """`100 hours from now`, `45 days after 2026-03-01`."""
    spans = _spans(question.text)
    if not spans or not question.has("date_add") or not _AHEAD.search(question.text):
        return None
    tool = question.tools["date_add"]
    listed = {param.name for param in tool.params}
    args: dict[str, object] = dict(_fit(spans, listed, -1 if _BACK.search(question.text) else 1))
    if date := _DATE.search(question.text):
        args[tool.pick("start", "date", "from")] = date[1]
    places = places_in(question.text)
    if places and "timezone" in listed:
        args["timezone"] = places[0].zone
    return _single(question, Call("date_add", args), "then")


def convert_plan(question: Question) -> Plan | None:
    """`When it is 15:30 in Berlin, what time is it in Tokyo?`"""
    places, clock = places_in(question.text), _CLOCK.search(question.text)
    if len(places) < 2 or clock is None or not question.has("convert_time"):
        return None
    tool = question.tools["convert_time"]
    names = (tool.pick("time"), tool.pick("from_timezone", "from_zone"), tool.pick("to_timezone", "to_zone"))
    values = (_clock_time(clock), places[0].zone, places[1].zone)
    return _single(question, Call("convert_time", dict(zip(names, values, strict=True))), "then")


def now_plan(question: Question) -> Plan | None:
    """The time here, in one place, or in several against each other."""
    if not question.has("current_time") or not _NOW.search(question.text):
        return None
    places = places_in(question.text)
    if len(places) > 1:
        return _compare(question, places)
    zone = places[0].zone if places else "UTC"
    return _single(question, question.text_call("current_time", zone, "timezone", "zone"), "now")


def _compare(question: Question, places: list[Place]) -> Plan:
    calls = tuple(question.text_call("current_time", place.zone, "timezone", "zone") for place in places)
    observed = yield from ask_all(question, calls)
    if all(one.failed for one in observed):
        return question.say("unknown")
    lines = [f"{place.said}: {first_line(one)}" for place, one in zip(places, observed, strict=True) if not one.failed]
    return question.answer("; ".join(lines) + ".")


def _single(question: Question, call: Call, key: str) -> Plan:
    observed = yield from ask(question, call)
    return question.say("unknown") if observed.failed else question.say(key, first_line(observed))


def _spans(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for unit, words in _UNITS:
        for match in re.finditer(rf"(?<![\d.:-])(\d+)\s*(?:{words})(?![a-zß])", text, re.IGNORECASE):
            found[unit] = found.get(unit, 0) + int(match[1])
    return found


def _fit(spans: dict[str, int], listed: set[str], sign: int) -> dict[str, int]:
    """The spans in the units that the tool lists; weeks and minutes only where it has them, else as days and left out."""
    if "weeks" in spans and "weeks" not in listed:
        spans = {**spans, "days": spans.get("days", 0) + 7 * spans["weeks"]}
    return {unit: sign * amount for unit, amount in spans.items() if unit in listed}


def _clock_time(match: re.Match[str]) -> str:
    hour, minute, half_hour, half, bare = match.groups()
    if half_hour:
        return f"{int(half_hour) % 12 + (12 if half.lower().startswith('p') else 0):02d}:00"
    return f"{int(hour or bare):02d}:{minute or '00'}"
