"""Time: now, here and elsewhere; a time of one zone in another; a moment some hours or days away."""

from __future__ import annotations

import re
from collections.abc import Sequence

from worker.simulator.phrases import dated, phrase
from worker.simulator.places import Place, places_in
from worker.simulator.records import Call, Observation, Plan
from worker.simulator.topics.asking import Question, ask, ask_all, first_line
from worker.simulator.topics.words import any_of

_UNITS = (
    ("weeks", r"weeks?|周|星期|週間|semanas?|Wochen?|semaines?|settimane|недел\w+|주"),
    ("days", r"days?|天|日|días?|dias?|Tage?n?|jours?|giorn[io]|дн\w+|день|일"),
    ("hours", r"hours?|hrs?|个?小时|個?小時|時間|horas?|Stunden?|heures?|or[ae]|час\w*|시간"),
    ("minutes", r"minutes?|mins?|分钟|分|minutos?|Minuten?|minut[io]|минут\w*|분"),
)
_AHEAD = any_of(
    r"from now|\bin\b|\bafter\b|later|\bago\b|before",
    "后|後|以后|之后|之前|前|후|뒤|전",
    r"dentro de|hace|después|vor|nach|dans|après|il y a|tra|fra|fa\b|dopo|daqui a|há|depois|через|назад",
)
_BACK = re.compile(r"\bago\b|before|之前|前|hace\b|\bvor\b|il y a|\bfa\b|\bhá\b|назад|전", re.IGNORECASE)
_DATE = re.compile(r"\b(\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2})?)\b")
_CLOCK = re.compile(
    r"(?<![\d:])(\d{1,2}):(\d{2})(?!\d)"
    r"|(?<!\d)(\d{1,2})\s*(a\.?m\.?|p\.?m\.?)(?!\w)|(?<!\d)(\d{1,2})\s*[点點時](?!間)",
    re.IGNORECASE,
)
_NOW = any_of(
    r"what(?:'s| is)? (?:the )?(?:current )?time|time is it|current time|\btime\b|today|weekday",
    "what (?:week)?day|which (?:week)?day|what date",
    "几点|星期几|时间|時間|今天|何時|何曜日|몇 시|무슨 요일",
    r"qué hora|\bhora\b|qué día|Uhr|spät|Wochentag|Uhrzeit",
    "quelle heure|quel jour|l'heure|che ora|che ore|che giorno|que horas|que dia",
    "который час|сколько времени|время|день недели",
)
_APART = any_of(
    "difference|compare|against|versus|apart|ahead|behind",
    "相差|时差|時差|比|差|시차|frente a|Unterschied|verglichen|разниц",
    "diferencia|décalage|différence|differenza|diferença",
)
_DIFFERENCE = re.compile(r"clocks there are (?:the same|([^.]*?) (?:ahead|behind))")


def ahead_plan(question: Question) -> Plan | None:
    """`100 hours from now`, `45 days after 2026-03-01`."""
    spans = _spans(question.text)
    if not spans or not question.has("date_add") or not _AHEAD.search(question.text):
        return None
    return _single(question, Call("date_add", _span_args(question, spans)), "then")


def _span_args(question: Question, spans: dict[str, int]) -> dict[str, object]:
    """The arguments in the units that the tool lists; weeks become days where it has no weeks."""
    tool = question.tools["date_add"]
    listed = {param.name for param in tool.params}
    if "weeks" in spans and "weeks" not in listed:
        spans = {**spans, "days": spans.get("days", 0) + 7 * spans["weeks"]}
    sign = -1 if _BACK.search(question.text) else 1
    args: dict[str, object] = {unit: sign * amount for unit, amount in spans.items() if unit in listed}
    if date := _DATE.search(question.text):
        args[tool.pick("start", "date", "from")] = date[1]
    places = places_in(question.text)
    if places and "timezone" in listed:
        args["timezone"] = places[0].zone
    return args


def convert_plan(question: Question) -> Plan | None:
    """`When it is 15:30 in Berlin, what time is it in Tokyo?`"""
    places, clock = places_in(question.text), _CLOCK.search(question.text)
    if len(places) < 2 or clock is None or not question.has("convert_time"):
        return None
    return _single(question, _conversion(question, _clock_time(clock), places), "then")


def now_plan(question: Question) -> Plan | None:
    """The time here, in one place, or in several against each other."""
    if not question.has("current_time") or not _NOW.search(question.text):
        return None
    places = places_in(question.text)
    if len(places) > 1:
        return _compare(question, places)
    zone = places[0].zone if places else "UTC"
    return _single(question, question.text_call("current_time", zone, "timezone", "zone"), "now")


def _compare(question: Question, places: Sequence[Place]) -> Plan:
    calls = tuple(question.text_call("current_time", place.zone, "timezone", "zone") for place in places)
    apart = len(places) == 2 and question.has("convert_time") and bool(_APART.search(question.text))
    if apart:
        calls += (_conversion(question, "now", places),)
    observed = yield from ask_all(question, calls)
    lines = [
        f"{place.said}: {dated(question.language, first_line(one))}"
        for place, one in zip(places, observed, strict=False)
        if not one.failed
    ]
    if not lines:
        return question.say("unknown")
    difference = _DIFFERENCE.search(observed[-1].text) if apart else None
    told = f" {phrase(question.language, 'apart', difference[1] or '0 h')}" if difference else ""
    return question.answer("; ".join(lines) + "." + told)


def _conversion(question: Question, time: str, places: Sequence[Place]) -> Call:
    tool = question.tools["convert_time"]
    names = (tool.pick("time"), tool.pick("from_timezone", "from_zone"), tool.pick("to_timezone", "to_zone"))
    return Call("convert_time", dict(zip(names, (time, places[0].zone, places[1].zone), strict=True)))


def _single(question: Question, call: Call, key: str) -> Plan:
    observed = yield from ask(question, call)
    return question.say("unknown") if observed.failed else question.say(key, dated(question.language, _told(observed)))


def _spans(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for unit, words in _UNITS:
        for match in re.finditer(rf"(?<![\d.:-])(\d+)\s*(?:{words})(?![a-zß])", text, re.IGNORECASE):
            found[unit] = found.get(unit, 0) + int(match[1])
    return found


def _told(observed: Observation) -> str:
    """The moment asked for: what a sum of dates ends with, what a conversion leads to, or the whole line."""
    line = first_line(observed)
    if result := re.search(r"Result:\s*(.+)", line):
        return result[1]
    converted = re.match(r".+\) is (.+?\))\.", line)
    return converted[1] if converted else line


def _clock_time(match: re.Match[str]) -> str:
    hour, minute, half_hour, half, bare = match.groups()
    if half_hour:
        return f"{int(half_hour) % 12 + (12 if half.lower().startswith('p') else 0):02d}:00"
    return f"{int(hour or bare):02d}:{minute or '00'}"
