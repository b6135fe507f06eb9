"""Batches: submit, read, cancel, pause, resume, retry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, BackgroundTasks, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from api.bodies import batch_body
from api.context import Context, Here
from api.intake import Intake, Taken
from api.options import BatchOptions, checked, names_among
from api.paging import Cursor, Limit, id_cursor, page
from api.problems import Conflict, EmptyInput, Problem, Unsupported, no_batch
from api.schema import WITH_BODY, answers
from api.shapes import Page
from api.shapes_batches import Batch, BatchChanged, BatchDetails, BatchRetried
from api.shapes_batches import Submitted as SubmittedShape
from api.submission_progress import Fingerprint
from api.unknown_parameters import each_once
from api.upload import parsed, read_in_thread
from api.views import batch_details, batch_view, one_batch
from worker.core.errors import ErrorCode
from worker.core.given import shown
from worker.core.records import JsonObject
from worker.core.states import BatchState, Klass
from worker.questions import Question, Reader, Refused
from worker.store.admission.retry import CANCELLED, StillStopping, retry_batch
from worker.store.control.stopping import Stopped, cancel_batch, cancel_chunk, pause_batch, resume_batch
from worker.store.queries.common import get_batch, list_batches

router = APIRouter(prefix="/api/batches", tags=["batches"])

MAX_JSON_BYTES = 64_000_000
"""Limit of a JSON body, which is held in memory; streamed bodies are not."""

FORMS = {
    "application/x-ndjson": "jsonl",
    "application/jsonl": "jsonl",
    "application/x-jsonlines": "jsonl",
    "text/csv": "csv",
    "text/plain": "plain",
    "application/octet-stream": "auto",
    "": "auto",
}
"""The input format of each content type."""

_SUBMIT = answers("submit_batch", SubmittedShape, 409, *WITH_BODY, 429, status=201, openapi_extra=batch_body(FORMS))
_SUBMIT["responses"][200] = {"model": SubmittedShape, "description": "This submission_key had been taken before"}

Submitted = tuple[Taken, BatchOptions, list[str]]


@router.post("", **_SUBMIT)
async def submit(request: Request, response: Response, here: Here) -> JsonObject:
    """Accepts questions as JSON (`runs` and options), or as a stream of lines with the options in the query."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        if request.query_params:
            name = next(iter(request.query_params))
            raise Problem(f"{shown(name)} is in the query, but the body is JSON.", "Put options into the body.")
        submitted = await read_in_thread(request, MAX_JSON_BYTES, lambda body: _from_json(here, body))
    elif kind in FORMS:
        given = each_once(request)
        most = here.settings.max_batch_bytes
        submitted = await read_in_thread(request, most, lambda body: _from_lines(here, given, FORMS[kind], body))
    else:
        known = ", ".join(("application/json", *(name for name in FORMS if name)))
        raise Unsupported(f"Questions of the type {shown(kind)} are not understood.", f"Send one of {known}.")
    return await run_in_threadpool(_answer, here, response, *submitted)


def _intake(here: Context, options: BatchOptions, fingerprint: Fingerprint) -> Intake:
    return Intake(here, options.new_batch(), options.defaults(), fingerprint, options.skip_invalid)


def _from_lines(here: Context, given: dict[str, Any], form: str, body: Iterator[bytes]) -> Submitted:
    options = checked(BatchOptions, given)
    reader = Reader(options.rules(here.settings), options.delimiter)
    fingerprint = Fingerprint({**given, "submission_key": None, "form": form})
    read = reader.read(fingerprint.over(body), form)
    return _intake(here, options, fingerprint).take(read, options.limit), options, reader.notes


def _from_json(here: Context, body: Iterator[bytes]) -> Submitted:
    given = parsed(body)
    if not isinstance(given, dict) or not isinstance(given.get("runs"), list):
        raise Problem('The body must be an object with "runs", a list of questions.')
    fingerprint = Fingerprint({**given, "submission_key": None})
    questions = given.pop("runs")
    if not questions:
        raise EmptyInput('There is no question: "runs" is empty.', "Give at least one.")
    options = checked(BatchOptions, given)
    reader = Reader(options.rules(here.settings, others=options.template is not None))
    read: Iterator[Question | Refused] = (reader.object(n, value) for n, value in enumerate(questions, 1))
    return _intake(here, options, fingerprint).take(read, options.limit), options, reader.notes


def _answer(here: Context, response: Response, taken: Taken, options: BatchOptions, notes: list[str]) -> JsonObject:
    if taken.existing:
        response.status_code = 200
    elif options.klass == Klass.INTERACTIVE:
        here.admitter.admit_soon()
    else:
        here.admitter.wake()
    row = get_batch(here.store, taken.batch_id)
    if row is None:
        raise no_batch(taken.batch_id)
    return {
        "batch_id": taken.batch_id,
        "name": row.name,
        "taken": row.total,
        "refused": [{"line": refused.line, "reason": refused.reason} for refused in taken.refused],
        "refused_count": taken.refused_count,
        "existing": taken.existing,
        "state": row.state,
        "simulated": bool((row.options or {}).get("simulated")),
        "notes": notes,
        "watch": f"stepmill batch status {taken.batch_id} --watch",
    }


@router.get("", **answers("list_batches", Page[Batch]))
def list_them(
    here: Here,
    state: BatchState | None = None,
    paused: bool | None = None,
    name: str | None = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> JsonObject:
    """Lists batches, newest first."""
    rows = list_batches(here.store, limit + 1, id_cursor(cursor, "batch"), state, paused, name)
    return page(rows, limit, batch_view, lambda row: str(row.id))


@router.get("/{batch_id}", **answers("get_batch", BatchDetails, 404))
def read(batch_id: str, here: Here) -> JsonObject:
    """Returns one batch: counts, totals, errors, what waits and why, scores."""
    return _details(here, batch_id)


def _details(here: Context, batch_id: str) -> JsonObject:
    row = one_batch(here, batch_id)
    if row is None:
        raise no_batch(batch_id)
    return batch_details(here, row)


@router.post("/{batch_id}/cancel", **answers("cancel_batch", BatchChanged, 404, *WITH_BODY))
def cancel(batch_id: str, here: Here, later: BackgroundTasks) -> JsonObject:
    """Cancels a batch at once; its runs follow in chunks, those in motion first."""
    _details(here, batch_id)
    changed = cancel_batch(here.store, batch_id)
    if changed:
        _cancelled(here, cancel_chunk(here.store, batch_id))
        later.add_task(_cancel_rest, here, batch_id)
    return _details(here, batch_id) | {"changed": changed}


def _cancel_rest(here: Context, batch_id: str) -> None:
    """Cancels the remaining runs. If this process ends first, a sweeper finishes the work."""
    while (stopped := cancel_chunk(here.store, batch_id)).run_ids:
        _cancelled(here, stopped)
    here.admitter.wake()


def _cancelled(here: Context, stopped: Stopped) -> None:
    here.sender.abort(stopped.aborted)
    here.sender.changed(stopped.run_ids)


@router.post("/{batch_id}/pause", **answers("pause_batch", BatchChanged, 404, *WITH_BODY))
def pause(batch_id: str, here: Here) -> JsonObject:
    """Pauses a batch: no new step of it starts."""
    _details(here, batch_id)
    changed = pause_batch(here.store, batch_id)
    return _details(here, batch_id) | {"changed": changed}


@router.post("/{batch_id}/resume", **answers("resume_batch", BatchChanged, 404, 409, *WITH_BODY))
def resume(batch_id: str, here: Here, budget_usd: Annotated[float | None, Query(gt=0, le=1e9)] = None) -> JsonObject:
    """Resumes a paused batch; `budget_usd` raises its budget, if it has one."""
    found = _details(here, batch_id)
    if budget_usd is None and found["paused_reason"] == "budget":
        hint = f"Give it more: stepmill batch resume {batch_id} --budget USD"
        raise Conflict(f"The budget of ${found['budget_usd']:.2f} is not enough for another run.", hint)
    if budget_usd is not None and found["budget_usd"] is None:
        raise Conflict("The batch has no budget that could be raised.", "A batch is given one when it is submitted.")
    if budget_usd is not None and budget_usd < found["budget_usd"]:
        # The allotted amount is already reserved for runs in motion.
        raise Conflict(f"A budget can only be raised, and this one is ${found['budget_usd']:.2f} already.")
    changed = resume_batch(here.store, batch_id, budget_usd)
    here.admitter.wake()
    return _details(here, batch_id) | {"changed": changed}


@router.post("/{batch_id}/retry", **answers("retry_batch", BatchRetried, 404, 409, *WITH_BODY))
def retry(batch_id: str, here: Here, codes: Annotated[str, Query()] = "") -> JsonObject:
    """Queues failed runs again: all, or those with one of the codes (`cancelled` for cancelled ones)."""
    _details(here, batch_id)
    wanted = names_among(codes, {*ErrorCode, CANCELLED}, "codes")
    try:
        retried = retry_batch(here.store, batch_id, wanted)
    except StillStopping:
        raise Conflict("The batch is still being cancelled.", "Try again in a moment.") from None
    here.admitter.wake()
    return _details(here, batch_id) | {"retried": retried, "changed": retried > 0}
