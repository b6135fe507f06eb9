"""The events of a run as server-sent events: past ones first, then new ones, until the run has ended."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Header, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.sse import format_sse_event
from sqlalchemy.exc import SQLAlchemyError
from starlette.responses import Response, StreamingResponse

from api.context import Context, Here
from api.listening import Listener
from api.paging import is_count
from api.problems import no_run
from api.schema import server_sent
from api.views import record_of, step_view
from worker.core.given import showable
from worker.core.records import JsonObject
from worker.core.states import ENDED
from worker.store.queries.endpoints import needs_operator
from worker.store.queries.events import Event, events_between
from worker.store.queries.fleet import serving
from worker.store.queries.runs import get_run
from worker.store.queries.waiting import why_run
from worker.store.session import AnyRow

log = logging.getLogger(__name__)

router = APIRouter(prefix="/api/runs", tags=["events"])

_KINDS = ("status", "step", "observation", "attempt_failed", "end", "error")
_EVENTS = server_sent("follow_run", _KINDS, 404)
_EVENTS["responses"][204] = {"description": "The run has ended, and nothing is new: do not come back"}

MOST_EVENTS = 10**15
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
IDLE = b": idle\n\n"
IDLE_S = 10.0
"""A comment is sent at least this often, so that no proxy closes the connection as idle."""
STATUS_S = 1.0
"""Least time between two reads of why a run waits."""


@router.get("/{run_id}/events", **_EVENTS)
async def events(
    run_id: str,
    request: Request,
    here: Here,
    last_event_id: Annotated[str | None, Header()] = None,
    after: Annotated[int, Query(ge=0, le=MOST_EVENTS)] = 0,
    follow: bool = True,
) -> Response:
    """Replays the events after `Last-Event-ID` and follows the run until it has ended."""
    if last_event_id is not None and is_count(last_event_id):
        after = int(last_event_id)
    run = await run_in_threadpool(get_run, here.store, run_id)
    if run is None:
        raise no_run(run_id)
    if run.state in ENDED and run.event <= after:
        return Response(status_code=204)  # tells a browser's EventSource not to reconnect
    stream = _Stream(here, request.app.state.listener, run_id, after)
    return StreamingResponse(stream.messages(follow), media_type="text/event-stream", headers=HEADERS)


@dataclass(slots=True)
class _Stream:
    here: Context
    listener: Listener
    run_id: str
    after: int
    ended: bool = False
    _status: JsonObject = field(default_factory=dict)
    _status_at: float = 0.0

    async def messages(self, follow: bool) -> AsyncIterator[bytes]:
        with self.listener.follow(self.run_id) as ear:
            spoken = time.monotonic()
            while True:
                news = await run_in_threadpool(self._news)
                if news or time.monotonic() - spoken > IDLE_S:
                    spoken = time.monotonic()
                    yield b"".join(news) or IDLE
                if self.ended or not follow:
                    return
                await ear.wait()

    def _news(self) -> list[bytes]:
        """Returns the new events, or if they cannot be read, a last event that says so; the client then reconnects."""
        try:
            return self._look()
        except Exception as error:
            self.ended = True
            return [broken_off(f"run {self.run_id}", error)]

    def _look(self) -> list[bytes]:
        """Returns the events since the last read."""
        run = get_run(self.here.store, self.run_id)
        if run is None:
            self.ended = True
            return []
        found = events_between(self.here.store, run, self.after)
        self.after = max(self.after, run.event)
        self.ended = run.state in ENDED
        status = self._new_status(run)
        return [*self._rendered(found), *([message("status", status)] if status else [])]

    def _rendered(self, found: list[Event]) -> list[bytes]:
        """Puts a number that events share on the last of them only, so that a client that reconnects misses none."""
        last_of = {event.number: n for n, event in enumerate(found)}
        return [
            message(event.kind, self._data(event), event.number if last_of[event.number] == n else None)
            for n, event in enumerate(found)
        ]

    def _data(self, event: Event) -> JsonObject:
        if event.kind == "end":
            return record_of(self.here, event.row)
        return _DATA[event.kind](event)

    def _new_status(self, run: AnyRow) -> JsonObject | None:
        """Returns state, phase and reason to wait if they have changed, otherwise None."""
        moved = (run.state, run.phase) != (self._status.get("state"), self._status.get("phase"))
        if self.ended or not (moved or time.monotonic() - self._status_at > STATUS_S):
            return None
        self._status_at = time.monotonic()
        waiting = why_run(self.here.store, run, serving(self.here.store))
        operator = needs_operator(self.here.store, run.parked, run.parked_target)
        status = {"state": run.state, "phase": run.phase, "waiting": waiting, "needs_operator": operator}
        if status == self._status:
            return None
        self._status = status
        return status


def broken_off(what: str, error: Exception) -> bytes:
    """Returns the last event of a stream that cannot continue."""
    log.exception("The events of %s break off", what)
    away = isinstance(error, SQLAlchemyError)
    said = "the database cannot be reached" if away else f"something went wrong ({type(error).__name__})"
    return message("error", {"message": f"The events break off here: {said}. Ask for them again."})


def message(kind: str, data: JsonObject, number: int | None = None) -> bytes:
    """Returns one server-sent event."""
    try:
        written = orjson.dumps(data)
    except TypeError as error:
        log.error("An event of the kind %s cannot be written whole: %s", kind, error)
        written = orjson.dumps(showable(data))
    return format_sse_event(event=kind, id=None if number is None else str(number), data_str=written.decode())


def _step(event: Event) -> JsonObject:
    calls = [{"call": call.call, "tool": call.tool, "args": showable(call.args)} for call in event.calls]
    return step_view(event.row) | {"calls": calls}


def _observation(event: Event) -> JsonObject:
    row: Any = event.row
    names = ("step", "call", "tool", "args", "outcome", "observation")
    return {name: showable(getattr(row, name)) for name in names}


def _attempt_failed(event: Event) -> JsonObject:
    return {name: getattr(event.row, name) for name in ("step", "call", "attempt", "outcome", "error")}


_DATA = {"step": _step, "observation": _observation, "attempt_failed": _attempt_failed}
