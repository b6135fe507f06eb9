"""The OpenAPI document: what each call takes and returns, its errors, and how to send the key."""

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
    400: "The request is not valid HTTP, or cannot be understood",
    401: "A key is set, and the request does not have it",
    403: "The API does not accept this host name, or pages of this origin",
    404: "There is no such thing",
    408: "The headers or the body did not arrive in time",
    409: "The run or batch is in the wrong state for this",
    413: "The body is too large",
    415: "The body has an unsupported content type",
    422: "A value, a name or a line is wrong; nothing was done",
    429: "Too many uploads of this client at once",
    431: "The headers are too large",
    500: "An error in the API itself; its log has the details",
    503: "The database or Redis is away; nothing was done, or it continues by itself",
}
EVERYWHERE = (400, 401, 403, 408, 422, 431, 500, 503)
WITH_BODY = (413, 415)

Responses = dict[int | str, dict[str, Any]]


def refusals(*statuses: int) -> Responses:
    """Returns these errors in the form of FastAPI's `responses`."""
    return {status: {"model": ErrorBody, "description": _SAID[status]} for status in statuses}


def answers(operation_id: str, model: type[BaseModel], *errors: int, status: int = 200, **more: Any) -> dict[str, Any]:
    """Returns a route's declaration: its stable operation id, its answer's model and its possible errors.

    The answer itself stays a plain dict, so that no time is spent on validating it against the model.
    """
    said: Responses = {status: {"model": model, "description": "Done"}, **refusals(*errors)}
    return {"operation_id": operation_id, "responses": said, "status_code": status, **more}


def streams(operation_id: str, content: Mapping[str, str], *errors: int) -> dict[str, Any]:
    """Returns the declaration of a route that answers with text or bytes; `content` describes each media type."""
    described = {kind: {"schema": {"type": "string", "description": said}} for kind, said in content.items()}
    said: Responses = {200: {"description": "Done", "content": described}, **refusals(*errors)}
    return {"operation_id": operation_id, "responses": said, "response_model": None, "response_class": Response}


def server_sent(operation_id: str, kinds: Collection[str], *errors: int) -> dict[str, Any]:
    """Returns the declaration of a route that answers with server-sent events of these kinds."""
    event = {"type": "string", "enum": list(kinds)}
    fields = {"event": event, "data": {"type": "string", "description": "JSON"}, "id": {"type": "string"}}
    declared = streams(operation_id, {"text/event-stream": ""}, *errors)
    schema = {"type": "object", "required": ["event", "data"], "properties": fields}
    declared["responses"][200]["content"]["text/event-stream"]["schema"] = schema
    return declared


def install(app: FastAPI, needs_key: bool) -> None:
    """Makes the application serve this schema."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = document(app, needs_key)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def document(app: FastAPI, needs_key: bool) -> dict[str, Any]:
    """Returns the complete document."""
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
    """Undoes FastAPI's mixing of an answer's model with that of the plain dict that the function returns."""
    for response in call["responses"].values():
        for content in response.get("content", {}).values():
            reference = content.get("schema", {}).get("$ref")
            if reference is not None:
                content["schema"] = {"$ref": reference}


_ABOUT = """Submit questions, follow them, fetch results.

Every error has the same body: `{"error": {"code", "message", "hint"}}`, with `line` if a line of the input is at
fault. If a key is set, enter it with Authorize."""
