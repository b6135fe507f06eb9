"""A chart of a share price: searched, read past a page that refuses, drawn in isolation, with its source at hand."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

import pytest

from tests.tools.web_server import WebServer
from tools.base import MemoryArtifacts, ToolContext, ToolError
from tools.fetch_url import fetch_url
from tools.python_executor import python_executor
from tools.web_search import web_search

CLOSES = {
    "2026-11-20": 98.1,
    "2026-11-23": 99.4,
    "2026-11-24": 100.2,
    "2026-11-25": 99.8,
    "2026-11-26": 101.75,
    "2026-11-27": 104.2,
    "2026-11-30": 103.6,
}
PAGE = (
    "<html><head><title>Acme: prices of the last seven trading days</title></head><body><article><h1>Acme prices</h1>"
    "<p>These are the closing prices of Acme on the exchange for the last seven days of trading, in US dollars.</p>"
    "<table><tr><th>Day</th><th>Close</th></tr>{rows}</table>"
    "<p>Prices are delayed by fifteen minutes and come without any warranty of being complete or right.</p>"
    "</article></body></html>"
)
PROGRAM = """
import matplotlib.pyplot as plt
days, closes = {days}, {closes}
plt.plot(days, closes, color="black", linewidth=4)
plt.title("Acme, last 7 days")
plt.show()
print("from", closes[0], "to", closes[-1])
"""


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer() as server:
        rows = "".join(f"<tr><td>{day}</td><td>{close}</td></tr>" for day, close in CLOSES.items())
        server.text("/prices", PAGE.format(rows=rows))
        server.text("/paywall", "forbidden", status=403)
        results = [
            {"title": "Acme quotes", "url": f"{server.url}/paywall", "content": "Subscribers only"},
            {
                "title": "Acme: prices",
                "url": f"{server.url}/prices",
                "content": "Closing prices",
                "publishedDate": None,
            },
        ]
        server.json("/search", {"query": "acme share price", "results": results, "answers": [], "suggestions": []})
        yield server


def test_a_chart_of_a_share_price_comes_from_search_page_and_program(web: WebServer) -> None:
    artifacts = MemoryArtifacts()
    settings = {"STEPMILL_SEARXNG_URL": web.url, "STEPMILL_FETCH_ALLOW_HOSTS": "127.0.0.1"}
    context = ToolContext(settings=settings, artifacts=artifacts)

    found = web_search.call({"query": "acme share price", "time_range": "week"}, context).observation
    refused, readable = re.findall(r"http://\S+", found)
    with pytest.raises(ToolError, match=r"403: it refuses programs\. Use another source"):
        fetch_url.call(refused, context)
    page = fetch_url.call(readable, context).observation
    assert page.startswith("Title: Acme prices\n")
    assert f"Address: {readable}\nFetched: 20" in page

    read = dict(re.findall(r"\| (\d{4}-\d\d-\d\d) \| ([\d.]+) \|", page))
    assert {day: float(close) for day, close in read.items()} == CLOSES
    program = PROGRAM.format(days=list(read), closes=[float(close) for close in read.values()])
    said = python_executor.call({"code": program}, context).observation
    assert said.startswith("from 98.1 to 103.6\nSaved file figure-1.png (image/png")
    assert _dark_columns(artifacts.files["figure-1.png"]) > 300


def _dark_columns(image: bytes) -> int:
    """How many columns of the picture hold something dark between its frame: the line that was drawn."""
    import io

    from PIL import Image

    assert struct.unpack(">II", image[16:24]) == (768, 576)
    picture = Image.open(io.BytesIO(image)).convert("L")
    middle = [(x, y) for x in range(150, 640) for y in range(100, 460)]
    return len({x for x, y in middle if (picture.getpixel((x, y)) or 0) < 60})  # type: ignore[operator]
