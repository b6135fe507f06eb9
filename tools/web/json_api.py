"""Queries a service that the operator set up, and reads its JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

import httpx2

from tools.kit.context import ToolContext
from tools.kit.errors import ToolError
from tools.web.addresses import Guard
from tools.web.get import Fetched, GetLimits, get

_TOO_BUSY = 429


async def ask(address: str, query: Mapping[str, object], context: ToolContext, what: str) -> dict[str, Any]:
    """Returns the service's JSON object. Raises ToolError, retryable if the failure may pass.

    A user name and password in the address are sent as Basic authorization.

    The service's own host may be private, since the operator named it; a redirect to another host is not followed.
    """
    given = {name: str(value) for name, value in query.items() if value is not None}
    named = httpx2.URL(address)
    login = f"Basic {base64.b64encode(unquote_to_bytes(named.userinfo)).decode()}" if named.userinfo else None
    url = named.copy_with(userinfo=b"").copy_merge_params(given)
    guard = Guard.allowing([f"{url.host}:{url.port or (443 if url.scheme == 'https' else 80)}"])
    limits = GetLimits(body_bytes=2 * 2**20, time_s=max(0.1, min(15.0, context.remaining_s())), redirects=0)
    answer = await get(str(url), guard, limits, accept="application/json", authorization=login)
    if answer.status != 200:
        _raise_status(answer, what)
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        raise ToolError(f"{what} answered something that is not JSON. Try another way.", retryable=True) from None
    if not isinstance(found, dict):
        raise ToolError(f"{what} answered JSON of an unknown form. Try another way.")
    return found


def _raise_status(answer: Fetched, what: str) -> None:
    reason = _reason(answer)
    if answer.status == _TOO_BUSY or answer.status >= 500:
        raise ToolError(f"{what} is busy or down (it answered {answer.status}{reason}).", retryable=True)
    raise ToolError(f"{what} refused the request (it answered {answer.status}{reason}). Try another way.")


def _reason(answer: Fetched) -> str:
    """Returns the service's own error message, if it is in one of the usual places."""
    try:
        said = json.loads(answer.body)
    except (ValueError, RecursionError):
        return ""
    reason = said.get("reason") or said.get("error") if isinstance(said, dict) else None
    return f": {str(reason)[:200]}" if reason else ""
