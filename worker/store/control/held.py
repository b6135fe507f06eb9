"""Tool calls that wait for a person to approve or refuse them, or to answer in the tool's place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, select, update

from worker.core.machine import decide_call
from worker.core.moves import CallFinished
from worker.core.spending import Spent
from worker.core.states import CallState, Outcome, Parked, Phase
from worker.core.work_messages import WorkMessage
from worker.store.hot.interface import Applied, Lease
from worker.store.hot.parameters import hot_of
from worker.store.hot.parked import READY, parked_for
from worker.store.hot.portable import settle_call, view_of
from worker.store.schema.tables import active, tool_calls
from worker.store.session import NOW, Store


@dataclass(frozen=True, slots=True)
class HeldCall:
    """A call that waits for a person; `held` is what it needs (`approval` or `answer`)."""

    run_id: str
    step: int
    call: int
    tool: str
    args: dict[str, Any]
    held: str


def held_calls(store: Store, run_id: str) -> list[HeldCall]:
    """Returns the calls of a run that wait for a person."""
    query = (
        select(tool_calls)
        .where(tool_calls.c.run_id == run_id, tool_calls.c.held.is_not(None))
        .where(tool_calls.c.state == CallState.PENDING.value)
        .order_by(tool_calls.c.step, tool_calls.c.call)
    )
    with store.read() as tx:
        return [HeldCall(r.run_id, r.step, r.call, r.tool, dict(r.args or {}), r.held) for r in tx.execute(query).all()]


def approve(store: Store, held: HeldCall) -> tuple[WorkMessage, ...] | None:
    """Approves a call; returns its work message, or () if its run must first take a slot. None: it no longer waits."""
    with store.write() as tx:
        hot = tx.execute(select(active).where(*_acting(held)).with_for_update()).one_or_none()
        freed = tx.execute(
            update(tool_calls)
            .where(*_key(held), tool_calls.c.held == "approval", tool_calls.c.state == CallState.PENDING.value)
            .values(held=None, due_at=NOW, sent_at=NOW)
            .returning(tool_calls.c.queue, tool_calls.c.attempt)
        ).one_or_none()
        if hot is None or freed is None:
            tx.rollback()
            return None
        if hot.parked is not None:
            _line_up(tx, held)
            return ()
        return (WorkMessage(held.run_id, held.step, held.call, freed.attempt, freed.queue, held.tool),)


def answer(store: Store, held: HeldCall, observation: str, outcome: Outcome = Outcome.OK) -> Applied | None:
    """Ends a held call with a person's answer or refusal as its observation. None: it no longer waits."""
    with store.write() as tx:
        hot = tx.execute(select(active).where(*_acting(held)).with_for_update()).one_or_none()
        waiting = (*_key(held), tool_calls.c.held.is_not(None), tool_calls.c.state == CallState.PENDING.value)
        call = tx.execute(select(tool_calls).where(*waiting)).one_or_none()
        if hot is None or call is None:
            return None
        tx.execute(update(tool_calls).where(*_key(held)).values(held=None))
        change = decide_call(hot_of(hot), view_of(call), CallFinished(observation, outcome))
        nobody = Lease("", held.run_id, held.step, held.call, call.attempt, "", 0.0)
        applied = settle_call(tx, hot, call, change, Spent(Outcome.DEFERRED), nobody)
        if hot.parked is None:
            return applied
        _line_up(tx, held)
        return Applied()


def _line_up(tx: Connection, held: HeldCall) -> None:
    tx.execute(update(active).where(active.c.run_id == held.run_id, parked_for(Parked.PERSON)).values(**READY))


def _acting(held: HeldCall) -> tuple[ColumnElement[bool], ...]:
    return active.c.run_id == held.run_id, active.c.step == held.step, active.c.phase == Phase.ACT.value


def _key(held: HeldCall) -> tuple[ColumnElement[bool], ...]:
    return (
        tool_calls.c.run_id == held.run_id,
        tool_calls.c.step == held.step,
        tool_calls.c.call == held.call,
    )
