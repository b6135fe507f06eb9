"""Single runs: ask, read, cancel, pause, resume, retry."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from api.bodies import RUN_BODY
from api.context import Context, Here
from api.guard import JSON
from api.intake import Defaults, Intake
from api.options import RunOptions, checked
from api.paging import Cursor, Limit, id_cursor, is_count, no_cursor, page
from api.problems import Conflict, Problem, Unsupported, no_batch, no_run
from api.schema import WITH_BODY, answers
from api.shapes import Asked, Page, Run, RunChanged, RunDetails
from api.submission_progress import Fingerprint
from api.upload import parsed, read_whole
from api.views import attempt_view, dialect_of, run_view, trace_view
from worker.core.errors import ErrorCode
from worker.core.given import shown
from worker.core.records import JsonObject
from worker.core.states import ENDED, Klass, RunState
from worker.core.work_messages import WorkMessage
from worker.questions import Reader, Refused, Rules
from worker.store.admission.retry import StillStopping, retry_run
from worker.store.admission.submit import LOCAL_OWNER, NewBatch
from worker.store.control.stopping import cancel_run, pause_run, resume_run
from worker.store.queries.common import get_batch
from worker.store.queries.fleet import serving
from worker.store.queries.runs import Filter, attempts_of, get_run, page_of_all, page_of_batch, steps_of
from worker.store.queries.waiting import why_run
from worker.store.session import AnyRow

router = APIRouter(prefix="/api/runs", tags=["runs"])

_ASK = answers("ask", Asked, 404, 409, *WITH_BODY, status=201, openapi_extra=RUN_BODY)
_ASK["responses"][200] = {"model": Asked, "description": "This submission_key had been taken before"}


@router.post("", **_ASK)
async def ask(request: Request, response: Response, here: Here) -> JsonObject:
    """Accepts one question, which becomes a batch of its own."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("", JSON):
        raise Unsupported(f"A question of the type {shown(kind)} is not understood.", f"Send {JSON}.")
    most = Rules(here.settings.max_question_bytes).max_line_bytes
    answer = await read_whole(request, most, lambda body: _ask(here, parsed(body)))
    response.status_code = 200 if answer["existing"] else 201
    return answer


def _ask(here: Context, given: Any) -> JsonObject:
    if not isinstance(given, dict):
        raise Problem("The body must be an object.", _ASK_HINT)
    fingerprint = Fingerprint({**given, "submission_key": None})
    options = checked(RunOptions, {name: given.pop(name) for name in RunOptions.model_fields if name in given})
    question = Reader(Rules(here.settings.max_question_bytes, others=False)).object(1, given)
    if isinstance(question, Refused):
        raise Problem(f"The request is refused: {question.reason}.", _ASK_HINT)
    new = NewBatch(LOCAL_OWNER, klass=options.klass, submission_key=options.submission_key)
    defaults = Defaults(question.agent, question.model, question.dialect, question.max_steps)
    taken = Intake(here, new, defaults, fingerprint).take([question])
    if not taken.existing and options.klass == Klass.INTERACTIVE:
        here.admitter.admit_soon()
    elif not taken.existing:
        here.admitter.wake()
    (row,) = page_of_batch(here.store, Filter(batch_id=taken.batch_id), 0, 1)
    simulated = here.configuration(row.config_hash).simulated
    return {"run_id": row.id, "batch_id": taken.batch_id, "existing": taken.existing, "simulated": simulated}


_ASK_HINT = 'Send {"question": "…"}.'


@router.get("", **answers("list_runs", Page[Run], 404))
def list_them(
    here: Here,
    batch: str | None = None,
    state: RunState | None = None,
    error: ErrorCode | None = None,
    custom_id: Annotated[str | None, Query(max_length=512)] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> JsonObject:
    """Lists the runs of a batch in input order, or of all batches, newest first."""
    which = Filter(batch, (state.value,) if state else (), error.value if error else None, custom_id)
    if batch is None:
        rows = page_of_all(here.store, which, id_cursor(cursor, "run"), limit + 1)
        return page(rows, limit, lambda row: run_view(here, row), lambda row: str(row.id))
    if cursor is not None and not is_count(cursor):
        raise no_cursor(cursor)
    if get_batch(here.store, batch) is None:
        raise no_batch(batch)
    rows = page_of_batch(here.store, which, int(cursor or 0), limit + 1)
    return page(rows, limit, lambda row: run_view(here, row), lambda row: str(row.seq))


@router.get("/{run_id}", **answers("get_run", RunDetails, 404))
def read(run_id: str, here: Here) -> JsonObject:
    """Returns one run with its steps, calls and attempts, and why it waits."""
    return _details(here, _found(here, run_id))


def _found(here: Context, run_id: str) -> AnyRow:
    row = get_run(here.store, run_id)
    if row is None:
        raise no_run(run_id)
    return row


def _details(here: Context, row: AnyRow) -> JsonObject:
    moving = row.state == RunState.ACTIVE and row.phase is not None
    trace = trace_view(steps_of(here.store, [row.id]).get(row.id, []))
    log = [attempt_view(attempt) for attempt in attempts_of(here.store, row.id)]
    thoughts = {entry["step"]: entry["task_id"] for entry in log if not entry["call"]}
    return run_view(here, row) | {
        "klass": row.klass,
        "dialect": dialect_of(here, row),
        "phase": row.phase,
        "waiting": why_run(here.store, row, serving(here.store)) if row.state not in ENDED else None,
        "task_id": WorkMessage(row.id, row.step, 0, row.attempt, row.queue).task_id if moving else None,
        "trace": [step | {"task_id": thoughts.get(step["step"])} for step in trace],
        "attempts_log": log,
    }


def _changed(here: Context, run_id: str, changed: bool) -> JsonObject:
    if changed:
        here.sender.changed((run_id,))
    return _details(here, _found(here, run_id)) | {"changed": changed}


@router.post("/{run_id}/cancel", **answers("cancel_run", RunChanged, 404, *WITH_BODY))
def cancel(run_id: str, here: Here) -> JsonObject:
    """Cancels a run at once, whatever it is doing."""
    _found(here, run_id)
    stopped = cancel_run(here.store, run_id)
    if stopped is not None:
        here.sender.abort(stopped.aborted)
        here.admitter.wake()
    return _changed(here, run_id, stopped is not None)


@router.post("/{run_id}/pause", **answers("pause_run", RunChanged, 404, *WITH_BODY))
def pause(run_id: str, here: Here) -> JsonObject:
    """Pauses a run: no new step of it starts."""
    _found(here, run_id)
    return _changed(here, run_id, pause_run(here.store, run_id))


@router.post("/{run_id}/resume", **answers("resume_run", RunChanged, 404, *WITH_BODY))
def resume(run_id: str, here: Here) -> JsonObject:
    """Resumes a paused run."""
    _found(here, run_id)
    changed = resume_run(here.store, run_id)
    here.admitter.wake()
    return _changed(here, run_id, changed)


@router.post("/{run_id}/retry", **answers("retry_run", RunChanged, 404, 409, *WITH_BODY))
def retry(run_id: str, here: Here) -> JsonObject:
    """Queues a failed or cancelled run again; it continues after its last complete step if that is safe."""
    row = _found(here, run_id)
    try:
        changed = retry_run(here.store, run_id)
    except StillStopping:
        raise Conflict("Its batch is still being cancelled.", "Try again in a moment.") from None
    if not changed:
        raise Conflict(f"The run is {row.state}; only failed and cancelled runs are tried again.")
    here.admitter.wake()
    return _changed(here, run_id, changed)
