"""Search, pages and weather from a test server: good answers are readable, bad ones fail quickly with advice."""

from __future__ import annotations

import base64
import gzip
import io
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.tools.web_server import ARTICLE, WebServer
from tools.base import Tool, ToolContext, ToolError
from tools.fetch_url import fetch_url
from tools.get_weather import get_weather
from tools.web_search import web_search

RESULTS = {
    "query": "acme share price",
    "number_of_results": 0,
    "results": [
        {
            "url": "https://ledger.example/acme",
            "title": "Acme shares  rise",
            "content": "Acme closed at 104.20 on Friday.",
            "publishedDate": "2026-11-27T08:00:00",
            "engine": "duckduckgo",
        },
        {"url": "https://ledger.example/acme", "title": "The same again", "content": None, "publishedDate": None},
        {"url": "javascript:alert(1)", "title": "No address"},
        {"url": "https://blocked.example/acme", "title": None, "content": "x" * 999},
        "garbage",
    ],
    "answers": [{"answer": "104.20 USD", "url": "https://x.example"}],
    "suggestions": ["acme stock"],
    "unresponsive_engines": [["google", "timeout"]],
}


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer() as server:
        yield server


def context(web: WebServer, time_s: float = 30.0, **settings: str) -> ToolContext:
    base = {
        "STEPMILL_FETCH_ALLOW_HOSTS": "127.0.0.1",
        "STEPMILL_SEARXNG_URL": web.url,
        "STEPMILL_GEOCODING_URL": f"{web.url}/geocoding",
        "STEPMILL_WEATHER_URL": f"{web.url}/forecast",
    }
    return ToolContext(settings=base | settings, deadline=time.monotonic() + time_s)


def test_search_results_are_numbered_with_address_date_and_snippet(web: WebServer) -> None:
    web.json("/search", RESULTS)
    args = {"query": "acme share price", "language": "en", "time_range": "week", "page": 2, "max_results": 1}
    assert web_search.call(args, context(web)).observation == (
        "Direct answer: 104.20 USD\n"
        "1. Acme shares rise\n   https://ledger.example/acme\n   2026-11-27 · Acme closed at 104.20 on Friday.\n"
        "(The first 1 of 2 on this page.)"
    )
    asked = {"q": "acme share price", "format": "json", "pageno": "2", "language": "en", "time_range": "week"}
    assert web.requests == [("/search", asked)]
    whole = web_search.call("acme", context(web)).observation
    assert "2. (no title)\n   https://blocked.example/acme\n   " + "x" * 300 in whole
    assert "javascript" not in whole


def test_a_search_without_results_or_set_up_says_what_to_do(web: WebServer) -> None:
    web.json("/search", {"results": [], "suggestions": ["acme stock"]})
    said = web_search.call("acme", context(web)).observation
    assert said == 'No results for "acme". Try fewer or other words. Others search for: acme stock.'
    with pytest.raises(ToolError, match="not set up here"):
        web_search.call("acme", ToolContext(settings={}))
    web.text("/search", "forbidden", status=403)
    with pytest.raises(ToolError, match=r"must list json under search\.formats"):
        web_search.call("acme", context(web))


def test_a_login_in_the_services_address_is_sent_and_never_shown(web: WebServer) -> None:
    web.json("/search", {"results": []})
    address = web.url.replace("://", "://me:pass%20word@")
    assert "No results" in web_search.call("acme", context(web, STEPMILL_SEARXNG_URL=address)).observation
    assert web.headers[-1]["Authorization"] == "Basic bWU6cGFzcyB3b3Jk"
    web.text("/search", "no", status=401)
    with pytest.raises(ToolError, match="answered 401") as caught:
        web_search.call("acme", context(web, STEPMILL_SEARXNG_URL=address))
    assert "pass" not in caught.value.message


def test_a_name_server_that_hangs_holds_up_no_cancel(monkeypatch: pytest.MonkeyPatch) -> None:
    hung = threading.Event()
    monkeypatch.setattr("tools.web.guarded.socket.getaddrinfo", lambda *_, **__: hung.wait(20))
    cancelled = threading.Event()
    threading.Timer(0.2, cancelled.set).start()
    started = time.monotonic()
    with pytest.raises(ToolError, match="cancelled"):
        fetch_url.call("https://hung.example/", ToolContext(settings={}, cancelled=cancelled.is_set))
    hung.set()
    assert time.monotonic() - started < 3


def test_a_page_is_read_with_title_author_date_and_address(web: WebServer) -> None:
    web.text("/acme", ARTICLE)
    web.redirect("/moved", "/acme", 301)
    said = fetch_url.call({"url": f"{web.url}/moved"}, context(web)).observation
    head, _, body = said.partition("\n\n")
    assert head.splitlines()[:4] == [
        "Title: Acme shares rise",
        "Author: Dana Field",
        "Published: 2026-11-27",
        f"Address: {web.url}/acme",
    ]
    assert "104.20" in body
    assert "[the report](https://example.org/x)" in body
    assert "| Thu" in body
    assert "Imprint" not in body


def test_a_long_text_comes_in_parts_that_join(web: WebServer) -> None:
    text = "".join(f"{number} words\n" for number in range(2000)).strip()
    web.text("/long.txt", text, "text/plain")
    parts: list[str] = []
    start: int | None = 0
    while start is not None:
        said = fetch_url.call({"url": f"{web.url}/long.txt", "start": start}, context(web)).observation
        body, _, more = said.partition("\n\n")[2].partition("\n[… ")
        parts.append(body)
        start = int(more.rpartition("start=")[2].rstrip("]")) if more else None
    assert "".join(parts) == text
    with pytest.raises(ToolError, match="there is nothing at 99,999"):
        fetch_url.call({"url": f"{web.url}/long.txt", "start": 99999}, context(web))


def test_a_pdf_is_read_page_by_page(web: WebServer) -> None:
    web.text("/report.pdf", _pdf("The answer is 42."), "application/octet-stream")
    said = fetch_url.call(f"{web.url}/report.pdf", context(web)).observation
    assert "## Page 1\n\nThe answer is 42." in said
    web.text("/broken.pdf", b"%PDF-1.7 nonsense", "application/pdf")
    with pytest.raises(ToolError, match="PDF is damaged"):
        fetch_url.call(f"{web.url}/broken.pdf", context(web))


def _pdf(text: str) -> bytes:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3, 1))
    figure.text(0.1, 0.5, text)
    stream = io.BytesIO()
    figure.savefig(stream, format="pdf")
    return stream.getvalue()


@pytest.mark.parametrize(
    ("body", "content_type", "read"),
    [
        ('{"a": "é"}', "application/json", '{"a": "é"}'),
        ("caf\xe9".encode("latin-1"), "text/plain; charset=iso-8859-1", "café"),
        ("中文".encode("gb18030"), "text/plain; charset=gb18030", "中文"),
        ("plain", "", "plain"),
        ("<p>no article, just this</p>", "text/html; charset=nonsense", "no article, just this"),
        ("<meta charset='undefined'><p>no article, just this</p>", "text/html", "no article, just this"),
        ("just this", "text/plain; charset=idna", "just this"),
        ("just\\x20this", "text/plain; charset=unicode_escape", "just\\x20this"),
        ("just this-", "text/plain; charset=punycode", "just this-"),
        ("+AGE-", "text/plain; charset=utf-7", "+AGE-"),
        ("just this", "text/plain; charset=zip", "just this"),
        ("a,b\n1,2", "text/csv", "a,b\n1,2"),
    ],
)
def test_kinds_of_text_are_decoded(web: WebServer, body: str | bytes, content_type: str, read: str) -> None:
    web.text("/x", body, content_type)
    assert fetch_url.call(f"{web.url}/x", context(web)).observation.partition("\n\n")[2] == read


@pytest.mark.parametrize(
    ("status", "advice", "retryable"),
    [(403, "refuses programs", False), (404, "no such page", False), (429, "too often", True), (503, "is down", True)],
)
def test_a_refusal_names_its_reason(web: WebServer, status: int, advice: str, retryable: bool) -> None:
    web.text("/x", "no", status=status)
    with pytest.raises(ToolError, match=advice) as caught:
        fetch_url.call(f"{web.url}/x", context(web))
    assert caught.value.retryable is retryable


def test_what_stands_behind_the_end_of_a_gzip_answer_is_left_unread(web: WebServer) -> None:
    web.packed("/x", gzip.compress(b"all of it") + b"\x00" * 20_000_000)
    assert fetch_url.call(f"{web.url}/x", context(web)).observation.endswith("all of it")


def test_a_gzip_answer_of_several_members_is_read_whole(web: WebServer) -> None:
    web.packed("/x", gzip.compress(b"one, ") + gzip.compress(b"two"))
    assert fetch_url.call(f"{web.url}/x", context(web)).observation.endswith("one, two")


def test_members_that_unpack_to_nothing_are_not_read_without_end(web: WebServer) -> None:
    web.packed("/x", gzip.compress(b"") * 1_000_000)
    with pytest.raises(ToolError, match="unpacks to nothing"):
        fetch_url.call(f"{web.url}/x", context(web))


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_decompression_bomb_is_cut_off_early(web: WebServer, encoding: str) -> None:
    web.bomb("/bomb", encoding)
    started = time.monotonic()
    try:
        said = fetch_url.call(f"{web.url}/bomb", context(web)).observation
    except ToolError as error:
        said = error.message
    assert len(said) < 8_000
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    ("body", "content_type", "said"),
    [
        (bytes(100), "image/png", r"image/png \(100 bytes\), which cannot be read as text"),
        ("", "text/html", "no readable text"),
        ("<html><body><script>x()</script></body></html>", "text/html", "no readable text"),
        (bytes(range(256)) * 50, "", "cannot be read as text"),
    ],
)
def test_what_cannot_be_read_is_told(web: WebServer, body: str | bytes, content_type: str, said: str) -> None:
    web.text("/x", body, content_type)
    with pytest.raises(ToolError, match=said):
        fetch_url.call(f"{web.url}/x", context(web))


def test_deep_and_hostile_html_ends_in_time(web: WebServer) -> None:
    web.text("/deep", "<div>" * 200_000 + "deep down")
    started = time.monotonic()
    try:
        said = fetch_url.call(f"{web.url}/deep", context(web, time_s=10)).observation
    except ToolError as error:
        said = error.message
    assert said
    assert time.monotonic() - started < 12


PLACES = [
    {"name": "Paris", "latitude": 48.85, "longitude": 2.35, "country": "France", "admin1": "Île-de-France"},
    {"name": "Paris", "latitude": 33.66, "longitude": -95.56, "country": "United States", "admin1": "Texas"},
    {"name": "nowhere"},
]
NOW = {
    "time": "2026-11-30T09:00",
    "temperature_2m": 7.2,
    "apparent_temperature": 5.0,
    "relative_humidity_2m": 81,
    "precipitation": 0.1,
    "weather_code": 61,
    "wind_speed_10m": 12.5,
}
DAILY = {
    "time": ["2026-11-30", "2026-12-01"],
    "weather_code": [61, 999],
    "temperature_2m_min": [4, 3],
    "temperature_2m_max": [9, 8],
    "precipitation_probability_max": [80],
}


def test_the_weather_of_a_place_now_and_in_the_coming_days(web: WebServer) -> None:
    web.json("/geocoding", {"results": PLACES})
    web.json("/forecast", {"timezone": "Europe/Paris", "current": NOW, "daily": DAILY})
    said = get_weather.call({"city": "Paris", "days": 2}, context(web)).observation
    assert said == (
        "Paris, Île-de-France, France, 2026-11-30 09:00 Europe/Paris: light rain, 7.2 °C (feels like 5.0 °C), "
        "humidity 81 %, wind 12.5 km/h, precipitation 0.1 mm (Open-Meteo)\n"
        "2026-11-30: light rain, 4 to 9 °C, rain 80 %\n2026-12-01: unknown sky, 3 to 8 °C, rain ? %"
    )
    assert web.requests[1][1]["forecast_days"] == "2"
    get_weather.call({"city": "Paris, Texas"}, context(web))
    assert web.requests[3][1]["longitude"] == "-95.56"
    get_weather.call({"city": "北京"}, context(web))
    assert web.requests[4][1]["language"] == "zh"
    with pytest.raises(ToolError, match=r'No place called "Paris, Canada" was found\. There are: Paris, France'):
        get_weather.call({"city": "Paris, Canada"}, context(web))


def test_the_demo_weather_is_used_only_when_told_to_be_offline(web: WebServer) -> None:
    offline = context(web, STEPMILL_WEATHER_OFFLINE="1")
    assert get_weather.call("北京市", offline).observation.endswith(
        "(Demo data: from a fixed table, not a real observation.)"
    )
    assert "holds no forecast" in get_weather.call({"city": "Tokyo", "days": 3}, offline).observation
    with pytest.raises(ToolError, match="not in the demo table"):
        get_weather.call("Atlantis", offline)
    practice = context(web, STEPMILL_PRACTICE_URL="http://127.0.0.1:1/v1")
    assert "Demo data" in get_weather.call("Beijing", practice).observation
    assert web.requests == []
    with pytest.raises(ToolError, match="404"):
        get_weather.call("Beijing", context(web, STEPMILL_PRACTICE_URL="http://x/v1", STEPMILL_WEATHER_OFFLINE="0"))


CALLS: dict[str, tuple[Tool, dict[str, Any], list[str]]] = {
    "web_search": (web_search, {"query": "x"}, ["/search"]),
    "get_weather": (get_weather, {"city": "x"}, ["/geocoding"]),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("body", "status", "retryable"),
    [
        ("<html>", 200, True),
        ("[]", 200, False),
        ("[" * 9999, 200, True),
        ("no", 500, True),
        ("no", 429, True),
        ("no", 400, False),
    ],
)
def test_a_service_that_answers_garbage_or_errors_is_told(
    web: WebServer, name: str, body: str, status: int, retryable: bool
) -> None:
    tool, args, paths = CALLS[name]
    for path in paths:
        web.text(path, body, status=status)
    with pytest.raises(ToolError) as caught:
        tool.call(args, context(web))
    assert caught.value.retryable is retryable


@pytest.mark.parametrize("name", ["web_search", "get_weather", "fetch_url"])
def test_a_service_that_is_down_is_retryable_and_one_that_drips_ends_on_time_and_on_cancel(name: str) -> None:
    tool, args = {
        "web_search": (web_search, {"query": "x"}),
        "get_weather": (get_weather, {"city": "x"}),
        "fetch_url": (fetch_url, {"url": "http://127.0.0.1:1/drip"}),
    }[name]
    down = {"STEPMILL_SEARXNG_URL": "http://127.0.0.1:1", "STEPMILL_GEOCODING_URL": "http://127.0.0.1:1/drip"}
    with pytest.raises(ToolError, match="failed") as caught:
        tool.call(args, ToolContext(settings=down | {"STEPMILL_FETCH_ALLOW_HOSTS": "127.0.0.1"}))
    assert caught.value.retryable
    with WebServer() as web:
        slow = {"STEPMILL_SEARXNG_URL": f"{web.url}/drip", "STEPMILL_GEOCODING_URL": f"{web.url}/drip"}
        slow |= {"STEPMILL_FETCH_ALLOW_HOSTS": "127.0.0.1"}
        args = args | ({"url": f"{web.url}/drip"} if name == "fetch_url" else {})
        started = time.monotonic()
        with pytest.raises(ToolError, match=r"out of time|did not answer"):
            tool.call(args, ToolContext(settings=slow, deadline=time.monotonic() + 1.2))
        cancelled = threading.Event()
        threading.Timer(0.2, cancelled.set).start()
        with pytest.raises(ToolError, match="cancelled"):
            tool.call(args, ToolContext(settings=slow, cancelled=cancelled.is_set))
        assert time.monotonic() - started < 5


def test_base64_data_reaches_the_reader_unharmed() -> None:
    from tools.web.reading import read

    page = read(base64.b64encode(b"x\x00y").decode(), "text/plain", "http://x", False)
    assert page["text"] == "x\x00y"
