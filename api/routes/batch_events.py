"""The events of a batch: its progress and the runs that have ended, until the batch has ended."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from api.context import Context, Here
from api.listening import Ear, Listener
from api.problems import no_batch
from api.routes.events import HEADERS, IDLE, IDLE_S, broken_off, message
from api.schema import server_sent
from api.views import batch_details, batch_progress, one_batch
from worker.core.records import JsonObject
from worker.store.queries.events import ended_among

router = APIRouter(prefix="/api/batches", tags=["events"])

NEWS = ("counts", "state", "paused_reason", "steps", "usage", "cost_usd", "errors", "waiting")
"""A change of these fields is worth an event. Rates and times are left out: they change with every read."""
LEAST_S = 1.0
"""Least time between two reads of a batch, however much happens in it."""


@router.get("/{batch_id}/events", **server_sent("follow_batch", ("progress", "run", "end", "error"), 404))
async def events(batch_id: str, request: Request, here: Here, follow: bool = True, runs: bool = True) -> Response:
    """Streams a batch's progress and, unless `runs` is false, the runs that have ended, until the batch has ended."""
    if await run_in_threadpool(one_batch, here, batch_id) is None:
        raise no_batch(batch_id)
    stream = _Stream(here, request.app.state.listener, batch_id, runs)
    return StreamingResponse(stream.messages(follow), media_type="text/event-stream", headers=HEADERS)


@dataclass(slots=True)
class _Stream:
    here: Context
    listener: Listener
    batch_id: str
    with_runs: bool
    ended: bool = False
    _said: JsonObject = field(default_factory=dict)
    _told: set[tuple[str, float]] = field(default_factory=set)

    async def messages(self, follow: bool) -> AsyncIterator[bytes]:
        with self.listener.follow() as ear:
            spoken = time.monotonic()
            while True:
                looked = time.monotonic()
                news = await run_in_threadpool(self._news, self._heard(ear))
                if news or time.monotonic() - spoken > IDLE_S:
                    spoken = time.monotonic()
                    yield b"".join(news) or IDLE
                if self.ended or not follow:
                    return
                await ear.wait_at_least(LEAST_S, looked)

    def _heard(self, ear: Ear) -> list[str]:
        found, ear.run_ids = list(ear.run_ids), set()
        return found

    def _news(self, run_ids: list[str]) -> list[bytes]:
        try:
            return self._look(run_ids)
        except Exception as error:
            self.ended = True
            return [broken_off(f"batch {self.batch_id}", error)]

    def _look(self, run_ids: list[str]) -> list[bytes]:
        row = one_batch(self.here, self.batch_id)
        if row is None:
            self.ended = True
            return []
        self.ended = row.finished_at is not None
        at_rest = self.ended or row.paused_reason is not None
        view = batch_details(self.here, row) if at_rest else batch_progress(self.here, row)
        news = [message("run", one) for one in self._ended_runs(run_ids)] if self.with_runs else []
        if any(view[name] != self._said.get(name) for name in NEWS):
            self._said = view
            news.append(message("progress", view))
        return [*news, message("end", view)] if self.ended else news

    def _ended_runs(self, run_ids: list[str]) -> list[JsonObject]:
        """Returns the runs that have ended and were not yet reported; one that was retried is reported again."""
        if len(self._told) > 10_000:
            self._told.clear()
        rows = ended_among(self.here.store, self.batch_id, run_ids) if run_ids else []
        new = [row for row in rows if (row.id, row.finished_at) not in self._told]
        self._told.update((row.id, row.finished_at) for row in new)
        return [
            {"run_id": row.id, "custom_id": row.custom_id, "state": row.state, "error": row.error_code} for row in new
        ]
