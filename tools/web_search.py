"""Searches the web through the operator's SearXNG."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from tools.base import ToolContext, ToolError, tool
from tools.config import ToolSettings

SNIPPET_CHARS = 300


@tool(group="web", timeout_s=30.0, idempotent=True)
async def web_search(
    query: str,
    context: ToolContext,
    max_results: Annotated[int, Field(ge=1, le=20)] = 5,
    page: Annotated[int, Field(ge=1, le=20)] = 1,
    language: str | None = None,
    time_range: Literal["day", "week", "month", "year"] | None = None,
    engines: str | None = None,
) -> str:
    """Searches the web. Returns titles, addresses, dates and snippets; read a page with fetch_url before relying on it.

    Args:
        query: What to search for, in a few words.
        max_results: How many results to return.
        page: The page of results, for more of the same search.
        language: A language code such as "en" or "zh".
        time_range: Only results this recent.
        engines: Search engines by name, separated by commas.
    """
    from tools.web.json_api import ask  # imported when it runs: loading the registry stays quick

    address = ToolSettings.of(context.settings).searxng_url
    if address is None:
        raise ToolError("Web search is not set up here (the operator sets STEPMILL_SEARXNG_URL). Answer without it.")
    asked = {"q": query, "format": "json", "pageno": page, "language": language}
    asked |= {"time_range": time_range, "engines": engines}
    try:
        found = await ask(f"{address.rstrip('/').removesuffix('/search')}/search", asked, context, "The web search")
    except ToolError as error:
        if "answered 403" in error.message:
            raise ToolError(f"{error.message} For the operator: SearXNG must list json under search.formats.") from None
        raise
    return _shown(query, found, max_results)


def _shown(query: str, found: dict[str, Any], most: int) -> str:
    lines = [f"Direct answer: {text}" for text in _answers(found)[:2]]
    results = _results(found)
    for number, result in enumerate(results[:most], start=1):
        lines.append(f"{number}. {_line(result.get('title')) or '(no title)'}\n   {result['url']}")
        date = _line(result.get("publishedDate"))[:10]
        snippet = _line(result.get("content"))[:SNIPPET_CHARS]
        about = " · ".join(part for part in (date, snippet) if part)
        lines += [f"   {about}"] if about else []
    if not lines:
        other = [_line(text) for text in _list(found.get("suggestions"))[:5]]
        hint = f" Others search for: {'; '.join(other)}." if other else ""
        return f'No results for "{query}". Try fewer or other words.{hint}'
    if len(results) > most:
        lines.append(f"(The first {most} of {len(results)} on this page.)")
    return "\n".join(lines)


def _results(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the results that have an address, each address once."""
    kept: dict[str, dict[str, Any]] = {}
    for result in _list(found.get("results")):
        url = result.get("url") if isinstance(result, dict) else None
        if isinstance(url, str) and url.startswith(("http://", "https://")):
            kept.setdefault(url, result)
    return list(kept.values())


def _answers(found: dict[str, Any]) -> list[str]:
    texts = [answer.get("answer") if isinstance(answer, dict) else answer for answer in _list(found.get("answers"))]
    return [_line(text)[:SNIPPET_CHARS] for text in texts if _line(text)]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _line(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
