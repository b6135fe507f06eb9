"""The OpenAPI document: what each call takes, answers and refuses, and how to show the key."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Response
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from api.bodies import SCHEMAS
from api.shapes import ErrorBody

REFS = "#/components/schemas/{model}"

_SAID = {
    400: "The request is not HTTP, or not of a kind that is understood",
    401: "A key is set, and the request does not show it",
    403: "The API does not answer to this name, or not to pages of this origin",
    404: "There is no such thing",
    408: "The headers or the body do not come",
    409: "It is in no state for that",
    413: "The body is too large",
    415: "The body is of a type that is not understood",
    422: "A value, a name or a line is wrong; nothing was done",
    429: "Too many uploads of this client at once",
    431: "The headers are too large",
    500: "A fault of the API itself; its log has the details",
    503: "The database or Redis is away; nothing was done, or it goes on by itself",
}
EVERYWHERE = (400, 401, 403, 408, 422, 431, 500, 503)
WITH_BODY = (413, 415)

Responses = dict[int | str, dict[str, Any]]


def refusals(*statuses: int) -> Responses:
    """These refusals, for `responses`."""
    return {status: {"model": ErrorBody, "description": _SAID[status]} for status in statuses}


def answers(operation_id: str, model: type[BaseModel], *errors: int, status: int = 200, **more: Any) -> dict[str, Any]:
    """What a route is declared with: its lasting name, what it answers and how it may refuse.

    The answer itself stays a plain dict, so that no time goes into checking one against the model.
    """
    said: Responses = {status: {"model": model, "description": "Done"}, **refusals(*errors)}
    return {"operation_id": operation_id, "responses": said, "status_code": status, **more}


def streams(operation_id: str, content: Mapping[str, str], *errors: int) -> dict[str, Any]:
    """The same for a route that answers in text or bytes: a description for each media type."""
    described = {kind: {"schema": {"type": "string", "description": said}} for kind, said in content.items()}
    said: Responses = {200: {"description": "Done", "content": described}, **refusals(*errors)}
    return {"operation_id": operation_id, "responses": said, "response_model": None, "response_class": Response}


def server_sent(operation_id: str, kinds: Collection[str], *errors: int) -> dict[str, Any]:
    """The same for a route that answers in server-sent events: what each of them has."""
    event = {"type": "string", "enum": list(kinds)}
    fields = {"event": event, "data": {"type": "string", "description": "JSON"}, "id": {"type": "string"}}
    declared = streams(operation_id, {"text/event-stream": ""}, *errors)
    schema = {"type": "object", "required": ["event", "data"], "properties": fields}
    declared["responses"][200]["content"]["text/event-stream"]["schema"] = schema
    return declared


def install(app: FastAPI, needs_key: bool) -> None:
    """Makes the application tell this schema."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = document(app, needs_key)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def document(app: FastAPI, needs_key: bool) -> dict[str, Any]:
    """The whole document."""
    found = get_openapi(title=app.title, version=version("stepmill"), description=_ABOUT, routes=app.routes)
    parts = found.setdefault("components", {})
    _, more = models_json_schema([(model, "validation") for model in SCHEMAS], ref_template=REFS)
    parts["schemas"] = {**more.get("$defs", {}), **parts.get("schemas", {})}
    parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "description": "STEPMILL_ADMIN_KEY"}}
    for path, calls in found["paths"].items():
        for call in calls.values():
            call["security"] = _security(path, needs_key)
            _plain_references(call)
    return found


def _security(path: str, needs_key: bool) -> list[dict[str, list[str]]]:
    if not path.startswith("/api/"):
        return []
    return [{"key": []}] if needs_key else [{}, {"key": []}]


def _plain_references(call: dict[str, Any]) -> None:
    """Where an answer has a model, FastAPI mixes it with that of the plain dict which the function returns."""
    for response in call["responses"].values():
        for content in response.get("content", {}).values():
            reference = content.get("schema", {}).get("$ref")
            if reference is not None:
                content["schema"] = {"$ref": reference}


_ABOUT = """Hand in questions, follow them, take results out.

Every refusal has the same body: `{"error": {"code", "message", "hint"}}`, with `line` where a line of the input is at
fault. Where a key is set, Authorize takes it."""
