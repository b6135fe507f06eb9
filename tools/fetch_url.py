"""Fetches a page and makes it readable."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field

from tools.base import ToolContext, ToolError, tool
from tools.config import ToolSettings
from tools.kit.child import ChildLimits, call_in_child
from tools.kit.running import wait_for

PART_CHARS = 7_000


@tool(group="web", timeout_s=60.0, idempotent=True)
def fetch_url(url: str, context: ToolContext, start: Annotated[int, Field(ge=0)] = 0) -> str:
    """Reads a web page, PDF or text file as Markdown, with its title, author, date and address.

    Args:
        url: The address, http or https.
        start: Where to read on in a long page, as an earlier part told.
    """
    from tools.web.addresses import Guard  # imported when it runs: loading the registry stays quick
    from tools.web.get import GetLimits, get

    guard = Guard.allowing(ToolSettings.of(context.settings).fetch_allow_hosts)
    limits = GetLimits(time_s=max(0.1, min(25.0, context.remaining_s() - 1.0)))
    fetched = wait_for(get(url, guard, limits), context, "fetch_url")
    _check_status(fetched.status, fetched.url)
    page = call_in_child(
        "tools.web.reading:read",
        {
            "data": base64.b64encode(fetched.body).decode(),
            "content_type": fetched.headers.get("content-type", ""),
            "url": fetched.url,
            "cut": fetched.cut,
        },
        context,
        ChildLimits(time_s=30.0),
        "Reading the page",
    )
    return _shown(page, fetched.url, start)


def _check_status(status: int, url: str) -> None:
    if status < 400:
        return
    reasons = {
        401: "it needs a login",
        403: "it refuses programs",
        404: "there is no such page",
        410: "the page is gone",
        429: "it is asked too often",
        451: "it is blocked for legal reasons",
    }
    reason = reasons.get(status, "it is down" if status >= 500 else "it refuses")
    retryable = status == 429 or status >= 500
    raise ToolError(f"{url} answered {status}: {reason}. Use another source.", retryable=retryable)


def _shown(page: dict[str, Any], url: str, start: int) -> str:
    text = page["text"]
    if start >= len(text) > 0:
        raise ToolError(f"The page has {len(text):,} characters; there is nothing at {start:,}.")
    head = [f"Title: {page['title']}" if page["title"] else "", f"Author: {page['author']}" if page["author"] else ""]
    head += [f"Published: {page['date']}" if page["date"] else "", f"Address: {url}"]
    head += [f"Fetched: {datetime.now(UTC):%Y-%m-%d}", page["remark"]]
    part = text[start : start + PART_CHARS]
    rest = len(text) - start - len(part)
    more = f"\n[… {rest:,} more characters; read on with start={start + len(part)}]" if rest else ""
    return "\n".join(line for line in head if line) + f"\n\n{part}{more}"
