"""Refuses unknown query parameters and body fields instead of ignoring them."""

from __future__ import annotations

import orjson
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import ParamTypes
from fastapi.routing import APIRoute
from starlette.requests import Request

from api.problems import Problem
from worker.core.given import shown, unknown_name

STREAMED = frozenset({"/api/batches", "/api/runs"})
"""Their POST reads its own body, and checks the names in it."""


async def known_names_only(request: Request) -> None:
    """Raises `Problem` for a query parameter or body field that the endpoint would ignore."""
    route = request.scope.get("route")
    if not isinstance(route, APIRoute):
        return
    streamed = request.method == "POST" and route.path in STREAMED
    if not (streamed and route.path == "/api/batches"):
        _check_query(request, _parameters(route))
    if request.method == "POST" and route.body_field is None and not streamed:
        _check_empty(await request.body(), request.url.path, _parameters(route))


def each_once(request: Request) -> dict[str, str]:
    """Returns the query as a dict. Raises `Problem` for a name that is given twice."""
    found: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name in found:
            raise Problem(f"{shown(name)} is given twice in the query.")
        found[name] = value
    return found


def _check_query(request: Request, known: frozenset[str]) -> None:
    for name in each_once(request):
        if name not in known:
            raise Problem(unknown_name(name, known, "parameter"), "See /docs for what is accepted.")


def _check_empty(body: bytes, path: str, known: frozenset[str]) -> None:
    if body.strip() in (b"", b"{}", b"null"):
        return
    try:
        fields = orjson.loads(body)
    except orjson.JSONDecodeError:
        fields = None
    if not isinstance(fields, dict):
        raise Problem(f"{path} takes no body.", "Leave it out.")
    name = next(iter(fields))
    if name in known:
        raise Problem(f"{shown(name)} belongs into the query, not into a body.", f"Call {path}?{name}=…")
    raise Problem(unknown_name(name, known, "field"), f"{path} takes no body; put its options into the query.")


def _parameters(route: APIRoute) -> frozenset[str]:
    """Returns the query parameters of an endpoint."""
    flat = get_flat_params(route.dependant)
    return frozenset(one.alias for one in flat if getattr(one.field_info, "in_", None) == ParamTypes.query)
