"""The work messages that active runs need."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, and_, select

from worker.core.states import CallState, Phase, think_queue
from worker.core.work_messages import WorkMessage
from worker.store.schema.tables import active, tool_calls
from worker.store.session import NOW


def work_messages_for(tx: Connection, run_ids: Sequence[str]) -> list[WorkMessage]:
    """Returns the messages for all unclaimed work of these active runs, due now or later, to send on un-parking."""
    thinking = select(active, (active.c.due_at - NOW).label("due_in_s")).where(
        active.c.run_id.in_(run_ids), active.c.token.is_(None), active.c.phase != Phase.ACT.value
    )
    acting = (
        select(tool_calls, (tool_calls.c.due_at - NOW).label("due_in_s"))
        .join(active, and_(active.c.run_id == tool_calls.c.run_id, active.c.step == tool_calls.c.step))
        .where(active.c.run_id.in_(run_ids), active.c.phase == Phase.ACT.value)
        .where(tool_calls.c.state == CallState.PENDING.value, tool_calls.c.held.is_(None))
    )
    work_messages = [
        WorkMessage(r.run_id, r.step, 0, r.attempt, think_queue(r.klass, r.quarantined), due_in_s=max(0.0, r.due_in_s))
        for r in tx.execute(thinking).all()
    ]
    work_messages += [
        WorkMessage(r.run_id, r.step, r.call, r.attempt, r.queue, r.tool, max(0.0, r.due_in_s))
        for r in tx.execute(acting).all()
    ]
    return work_messages
