"""Every error as `{"error": {"code", "message", "hint"}}`: one sentence and what to do, never a traceback."""

from __future__ import annotations

import logging
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from redis.exceptions import RedisError
from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError, SQLAlchemyError
from starlette.exceptions import HTTPException

from worker.core.errors import UserError
from worker.core.given import UNKNOWN_NAME, shown

log = logging.getLogger(__name__)


class Problem(UserError):
    """A request that is refused. `line` names the input line at fault."""

    status = 422
    code = "bad_request"

    def __init__(self, message: str, hint: str = "", line: int | None = None) -> None:
        super().__init__(message, hint)
        self.line = line


class BadInputLine(Problem):
    """A line of the input is malformed; nothing was stored."""

    code = "bad_line"


class EmptyInput(Problem):
    """There is no question in the input."""

    code = "empty"


class TooLarge(Problem):
    """The body is over the limit."""

    status = 413
    code = "too_large"


class Unsupported(Problem):
    """The body has an unsupported content type."""

    status = 415
    code = "unsupported_type"


class NotFound(Problem):
    """No such run or batch."""

    status = 404
    code = "not_found"


class Conflict(Problem):
    """The run or batch is in the wrong state for the request."""

    status = 409
    code = "conflict"


class Busy(Problem):
    """Too many requests of this client at once; it may try again later."""

    status = 429
    code = "busy"

    def __init__(self, message: str) -> None:
        super().__init__(message, "Send them one after the other; try again in a moment.")


class SlowBody(HTTPException):
    """A request body does not arrive. Not a `Problem`, because code that reads bodies must let it pass."""

    def __init__(self, said: str) -> None:
        super().__init__(408, said, {"connection": "close"})


class LargeBody(HTTPException):
    """A body exceeded the limit while it arrived. Not a `Problem`, for the same reason as `SlowBody`."""

    def __init__(self, most: int) -> None:
        super().__init__(413, f"The body is larger than {most:,} bytes", {"connection": "close"})


def no_batch(batch_id: str) -> NotFound:
    """There is no such batch."""
    return NotFound(f"There is no batch {batch_id!r}.", "List them with `stepmill batch list`.")


def no_run(run_id: str) -> NotFound:
    """There is no such run."""
    return NotFound(f"There is no run {run_id!r}.", "List them with `stepmill run list`.")


def refusal(status: int, code: str, message: str, hint: str = "", line: int | None = None) -> Response:
    """Returns the response for a refusal."""
    error: dict[str, Any] = {"code": code, "message": message, "hint": hint}
    if line is not None:
        error["line"] = line
    headers = {"www-authenticate": "Bearer"} if status == 401 else None
    return Response(orjson.dumps({"error": error}), status, headers, "application/json")


def install(app: FastAPI) -> None:
    """Makes the application answer every error with this body."""
    handlers: list[tuple[type[Exception], Any]] = [
        (UserError, _user_error),
        (RequestValidationError, _validation),
        (HTTPException, _http),
        (SQLAlchemyError, _database),
        (RedisError, _redis),
        (Exception, _unexpected),
    ]
    for kind, handler in handlers:
        app.add_exception_handler(kind, handler)


def _user_error(_request: Request, error: UserError) -> Response:
    if isinstance(error, Problem):
        return refusal(error.status, error.code, error.message, error.hint, error.line)
    return refusal(503 if error.exit_code == 3 else 422, "bad_request", error.message, error.hint)


def _validation(_request: Request, error: RequestValidationError) -> Response:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return refusal(422, "bad_request", "The body is not valid JSON.", "See /docs for what is accepted.")
    if first["type"] == UNKNOWN_NAME:
        return refusal(422, "bad_request", first["msg"], "See /docs for what is accepted.")
    where = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path")) or "the request"
    given = "" if first["type"] == "missing" else f" is {shown(first.get('input'))}"
    return refusal(422, "bad_request", f"{where}{given}: {first['msg']}.", "See /docs for what is accepted.")


def _http(request: Request, error: HTTPException) -> Response:
    if error.status_code == 404:
        return refusal(404, "not_found", f"There is nothing at {request.url.path}.", "See /docs for the calls.")
    if error.status_code == 405:
        refused = refusal(405, "bad_request", f"{request.url.path} does not take {request.method}.", "See /docs.")
        refused.headers["allow"] = request.scope["allow"]
        return refused
    code = {408: "timeout", 413: "too_large"}.get(error.status_code, "bad_request")
    response = refusal(error.status_code, code, f"{error.detail}.".replace("..", "."))
    response.headers.update(error.headers or {})
    return response


def _database(_request: Request, error: SQLAlchemyError) -> Response:
    text = str(getattr(error, "orig", error))
    log.warning("The database refused or is away: %s", error.__class__.__name__)
    if isinstance(error, (OperationalError, ProgrammingError)) and (
        "no such table" in text or "does not exist" in text
    ):
        return refusal(503, "unavailable", "The database is not migrated.", "Run `stepmill db upgrade`.")
    if isinstance(error, DBAPIError) and not isinstance(error, OperationalError):
        return refusal(500, "internal", "The database refused a statement; this is a bug.", "See the API's log.")
    return refusal(503, "unavailable", "The database cannot be reached.", "`stepmill doctor` says what is wrong.")


def _redis(_request: Request, _error: RedisError) -> Response:
    return refusal(503, "unavailable", "Redis cannot be reached.", "`stepmill doctor` says what is wrong.")


def _unexpected(_request: Request, error: Exception) -> Response:
    message = f"Something went wrong inside ({type(error).__name__}); this is a bug."
    return refusal(500, "internal", message, "The API's log has the details.")
