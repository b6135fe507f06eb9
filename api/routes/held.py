"""Calls that wait for a person: listed, approved, refused, answered."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field, StringConstraints

from api.context import Context, Here
from api.problems import Conflict, no_run
from api.schema import WITH_BODY, answers
from api.shapes import AnsweredCall, Approved, HeldCalls, RefusedCall
from worker.core.given import Given
from worker.core.records import JsonObject
from worker.core.states import Outcome
from worker.store.control import held
from worker.store.control.held import HeldCall
from worker.store.queries.runs import get_run

router = APIRouter(prefix="/api/runs", tags=["runs"])

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]


class Which(Given):
    """Selects a waiting call; needed only if several wait."""

    step: int | None = Field(None, ge=1, le=1_000_000)
    call: int | None = Field(None, ge=1, le=1_000_000)


class Refusal(Which):
    """Why a call is refused, as the model will read it."""

    reason: Text = "no reason was given"


class Reply(Which):
    """A person's reply, as the model will read it."""

    text: Text


@router.get("/{run_id}/held", **answers("list_held_calls", HeldCalls, 404))
def waiting(run_id: str, here: Here) -> JsonObject:
    """Lists the calls of a run that wait for a person."""
    return {"held": [asdict(one) for one in _held(here, run_id)]}


@router.post("/{run_id}/approve", **answers("approve_call", Approved, 404, 409, *WITH_BODY))
def approve(run_id: str, here: Here, which: Which | None = None) -> JsonObject:
    """Approves a call that waits for approval: it may start."""
    one = _one(here, run_id, which or Which(), "approval")
    work_messages = held.approve(here.store, one)
    if work_messages is None:
        raise _gone(run_id)
    here.sender.send(work_messages)
    here.admitter.wake()
    return {"run_id": run_id, "approved": asdict(one)}


@router.post("/{run_id}/refuse", **answers("refuse_call", RefusedCall, 404, 409, *WITH_BODY))
def refuse(run_id: str, here: Here, refusal: Refusal | None = None) -> JsonObject:
    """Refuses a call that waits for approval; the model reads that a person refused it, and why."""
    said = refusal or Refusal()
    one = _one(here, run_id, said, "approval")
    _finish(here, one, f"A person refused this call of {one.tool}: {said.reason}", Outcome.ERROR)
    return {"run_id": run_id, "refused": asdict(one)}


@router.post("/{run_id}/answer", **answers("answer_call", AnsweredCall, 404, 409, *WITH_BODY))
def answer(run_id: str, here: Here, reply: Reply) -> JsonObject:
    """Gives a person's answer to a run that asked for one."""
    one = _one(here, run_id, reply, "answer")
    _finish(here, one, reply.text, Outcome.OK)
    return {"run_id": run_id, "answered": asdict(one)}


def _finish(here: Context, one: HeldCall, observation: str, outcome: Outcome) -> None:
    applied = held.answer(here.store, one, observation, outcome)
    if applied is None:
        raise _gone(one.run_id)
    here.sender.changed((one.run_id,))
    here.sender.send(applied.work_messages)
    here.admitter.wake()


def _held(here: Context, run_id: str) -> list[HeldCall]:
    if get_run(here.store, run_id) is None:
        raise no_run(run_id)
    return held.held_calls(here.store, run_id)


def _one(here: Context, run_id: str, which: Which, kind: str) -> HeldCall:
    """Returns the selected call. Raises `Conflict` if none waits, or if several do and none was named."""
    found = [
        one
        for one in _held(here, run_id)
        if one.held == kind and which.step in (None, one.step) and which.call in (None, one.call)
    ]
    if not found:
        raise _gone(run_id)
    if len(found) > 1:
        calls = ", ".join(f"step {one.step} call {one.call} ({one.tool})" for one in found)
        raise Conflict(f"Several calls of run {run_id} wait: {calls}.", "Name one by step and call.")
    return found[0]


def _gone(run_id: str) -> Conflict:
    return Conflict(f"No such call of run {run_id} waits for a person.", f"See `stepmill run show {run_id}`.")
