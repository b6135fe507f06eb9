"""The web: a search, a page that the question names, and a chart of what a search found."""

from __future__ import annotations

import re

from worker.simulator.records import Call, Observation, Plan
from worker.simulator.topics.asking import Question, ask, first_line, unknown

_URL = re.compile(r"https?://[^\s<>\"'`)\]）】」，。]+")
_CHART = re.compile(r"\b(?:chart|plot|graph)\b|图表|折线图|グラフ|gráfico|Diagramm|graphique", re.IGNORECASE)
_READ_ON = re.compile(r"\bread\b|\bopen\b|according to|summari[sz]e", re.IGNORECASE)
_SERIES = re.compile(r"(\d{4}-\d{2}-\d{2})[^\d\n]{1,20}?(\d+(?:\.\d+)?)(?![\d-])")
_EXCERPT_CHARS = 400


def page_plan(question: Question) -> Plan | None:
    """A page whose address the question gives."""
    match = _URL.search(question.text)
    if match is None or not question.has("fetch_url"):
        return None
    return _page(question, match[0].rstrip(".,;:!?"))


def search_plan(question: Question) -> Plan | None:
    """A search for the question itself."""
    return _search(question) if question.has("web_search") else None


def chart_plan(question: Question) -> Plan | None:
    """A chart of figures that have to be found first."""
    if not _CHART.search(question.text) or not question.has("web_search", "python_executor"):
        return None
    return _chart(question)


def _page(question: Question, url: str) -> Plan:
    observed = yield from ask(question, question.text_call("fetch_url", url, "url"))
    return question.say("unknown") if observed.failed else question.answer(f"{_excerpt(observed)} ({url})")


def _search(question: Question) -> Plan:
    call = question.text_call("web_search", question.text, "query")
    found = yield from ask(question, call, call)
    links = _links(found)
    if found.failed or not found.text.strip():
        return (yield from unknown(question))
    if links and question.has("fetch_url") and _READ_ON.search(question.text):
        page = yield from ask(question, *_pages(question, links))
        if not page.failed:
            return question.answer(f"{_excerpt(page)} ({links[0]})")
    return question.answer(_excerpt(found) + (f" ({links[0]})" if links and links[0] not in _excerpt(found) else ""))


def _chart(question: Question) -> Plan:
    call = question.text_call("web_search", question.text, "query")
    found = yield from ask(question, call, call)
    source, links = found, _links(found)
    link = links[0] if links else ""
    if not _SERIES.search(found.text):
        for link in links[:3] if question.has("fetch_url") else ():
            source = yield from ask(question, *_pages(question, [link]))
            if _SERIES.search(source.text):
                break
    points = _SERIES.findall(source.text)
    if not points:
        return question.say("unknown")
    drawn = yield from ask(question, question.text_call("python_executor", _drawing(points), "code"))
    if drawn.failed:
        return question.say("unknown")
    day = ""
    if question.has("current_time"):
        seen = yield from ask(question, question.text_call("current_time", "UTC", "timezone"))
        day = "" if seen.failed else f", {first_line(seen)}"
    return question.answer(f"{drawn.text.strip()}\n\nSource: {_title(found, link)}, {link}{day}")


def _drawing(points: list[tuple[str, str]]) -> str:
    days, values = [day for day, _ in points], ", ".join(value for _, value in points)
    return (
        "import matplotlib.pyplot as plt\n"
        f"days = {days!r}\n"
        f"values = [{values}]\n"
        "plt.plot(days, values, marker='o')\n"
        "plt.xticks(rotation=45)\n"
        "plt.tight_layout()\n"
        "plt.savefig('chart.png')\n"
        "print('chart.png drawn from', len(values), 'values')"
    )


def _pages(question: Question, links: list[str]) -> tuple[Call, ...]:
    """The first page, and the second for when the first fails."""
    return tuple(question.text_call("fetch_url", link, "url") for link in links[:2])


def _links(observed: Observation) -> list[str]:
    return list(dict.fromkeys(match.rstrip(".,;:!?") for match in _URL.findall(observed.text)))


def _title(observed: Observation, link: str) -> str:
    """The line before the link, or the text of the Markdown link."""
    if match := re.search(rf"\[([^\]]+)\]\({re.escape(link)}", observed.text):
        return match[1]
    before = observed.text.partition(link)[0].strip().splitlines() if link else []
    return re.sub(r"^[\s\d.*#-]+|[\s:(<-]+$", "", before[-1]) if before else link


def _excerpt(observed: Observation) -> str:
    text = " ".join(observed.text.split())
    return text if len(text) <= _EXCERPT_CHARS else text[:_EXCERPT_CHARS].rsplit(" ", 1)[0] + " …"
