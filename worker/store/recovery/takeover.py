"""Takes over the leases of dead, stopped or overdue workers: ends their attempts without a result and moves work on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import and_, or_, select

from worker.core.machine import decide_call, decide_think, unknown_outcome
from worker.core.moves import (
    CallChange,
    CallEvent,
    CallFinished,
    CallRetried,
    CallView,
    GivenBack,
    Hot,
    ModelFailed,
    ThinkEvent,
)
from worker.core.spending import Spent
from worker.core.states import CallState, Outcome, Phase, WorkerState
from worker.core.work_messages import WorkMessage
from worker.store.configurations import get_configuration
from worker.store.hot.interface import Applied, Lease
from worker.store.hot.parameters import hot_of
from worker.store.hot.writes import apply_call, apply_think
from worker.store.schema.tables import active, attempts, tool_calls, workers
from worker.store.session import NOW, AnyRow, Store

CHUNK = 500


@dataclass(frozen=True, slots=True)
class OpenAttempt:
    """A lease to be ended by another process than its holder, with its tool and the outcome to record."""

    lease: Lease
    tool: str = ""
    outcome: Outcome = Outcome.LOST


def abandoned(store: Store) -> list[OpenAttempt]:
    """Returns leases whose worker is dead or stopped, and leases past their deadline. Reads hot rows only."""
    thinking = (
        select(active, workers.c.state.label("worker_state"))
        .join(workers, workers.c.id == active.c.worker_id)
        .where(active.c.token.is_not(None), or_(workers.c.state.in_(_GONE), active.c.lease_until < NOW))
    )
    acting = (
        select(tool_calls, workers.c.state.label("worker_state"))
        .select_from(active)
        .join(tool_calls, and_(active.c.run_id == tool_calls.c.run_id, active.c.step == tool_calls.c.step))
        .join(workers, workers.c.id == tool_calls.c.worker_id)
        .where(active.c.phase == Phase.ACT.value, tool_calls.c.state == CallState.RUNNING.value)
        .where(or_(workers.c.state.in_(_GONE), tool_calls.c.lease_until < NOW))
    )
    with store.read() as tx:
        rows = [(row, 0, "") for row in tx.execute(thinking.limit(CHUNK)).all()]
        rows += [(row, row.call, row.tool) for row in tx.execute(acting.limit(CHUNK)).all()]
    return [OpenAttempt(_lease(row, call), tool, _WHY[WorkerState(row.worker_state)]) for row, call, tool in rows]


_GONE = [WorkerState.DEAD.value, WorkerState.STOPPED.value]
_WHY = {
    WorkerState.DEAD: Outcome.LOST,
    WorkerState.STOPPED: Outcome.HANDED_BACK,
    # The worker is alive, but the attempt is past its deadline.
    WorkerState.UP: Outcome.TIMEOUT,
    WorkerState.DRAINING: Outcome.TIMEOUT,
}


def _lease(row: AnyRow, call: int) -> Lease:
    return Lease(row.token, row.run_id, row.step, call, row.attempt, row.worker_id, 0.0)


def held_by(store: Store, worker_id: str, outcome: Outcome) -> list[OpenAttempt]:
    """Returns all leases of one worker, to be handed back when it shuts down."""
    thinking = select(active).where(active.c.worker_id == worker_id, active.c.token.is_not(None))
    acting = (
        select(tool_calls)
        .join(active, and_(active.c.run_id == tool_calls.c.run_id, active.c.step == tool_calls.c.step))
        .where(tool_calls.c.worker_id == worker_id, tool_calls.c.state == CallState.RUNNING.value)
    )
    with store.read() as tx:
        rows = [(row, 0, "") for row in tx.execute(thinking).all()]
        rows += [(row, row.call, row.tool) for row in tx.execute(acting).all()]
    return [OpenAttempt(_lease(row, call), tool, outcome) for row, call, tool in rows]


def release(store: Store, held: OpenAttempt, idempotent: Mapping[str, bool], reason: str) -> Applied | None:
    """Ends an attempt without a result. None: it had already ended. Safe for any number of sweepers at once.

    A started call that is not idempotent is not repeated; its observation says that its outcome is unknown.
    """
    spent = Spent(held.outcome.value, error=reason, wasted=True, billed=held.lease.call == 0)
    if held.lease.call:
        repeatable = idempotent.get(held.tool, False)

        def decide(hot: Hot, view: CallView) -> CallChange:
            view = replace(view, idempotent=repeatable)
            return decide_call(hot, view, _call_event(held, view, reason))

        return apply_call(store, held.lease, decide, spent)
    with store.read() as tx:
        row = tx.execute(select(active).where(active.c.token == held.lease.token)).one_or_none()
    if row is None:
        return None
    hot = hot_of(row)
    config = get_configuration(store, row.config_hash)
    spent = replace(spent, priced=hot.allotment_usd is not None or hot.cost_usd > 0)
    return apply_think(store, held.lease, decide_think(hot, _think_event(held, reason), config), spent)


def _think_event(held: OpenAttempt, reason: str) -> ThinkEvent:
    if held.outcome == Outcome.TIMEOUT:
        return ModelFailed(reason, retry_in_s=0.0, reason=reason)
    return GivenBack(held.outcome.value, reason=reason)


def _call_event(held: OpenAttempt, view: CallView, reason: str) -> CallEvent:
    if held.outcome == Outcome.TIMEOUT and view.started and not view.idempotent:
        return CallFinished(unknown_outcome(view.tool), Outcome.TIMEOUT)
    if held.outcome == Outcome.TIMEOUT:
        return CallRetried(reason, retry_in_s=0.0)
    return GivenBack(held.outcome.value, reason=reason)


def work_messages_of(results: Sequence[Applied | None]) -> list[WorkMessage]:
    """Returns the work messages of the applies that landed."""
    return [work_message for applied in results if applied for work_message in applied.work_messages]


def attempt_lease(store: Store, run_id: str, step: int, call: int, attempt: int, worker_id: str) -> Lease | None:
    """Returns the open lease of one attempt by one worker: a parent uses it to find what its dead pool child held."""
    query = select(attempts).where(
        attempts.c.run_id == run_id, attempts.c.step == step, attempts.c.call == call, attempts.c.attempt == attempt,
        attempts.c.worker_id == worker_id, attempts.c.ended_at.is_(None),
    )  # fmt: skip
    with store.read() as tx:
        row = tx.execute(query).first()
    return Lease(row.token, run_id, step, call, attempt, worker_id, 0.0) if row else None


def tool_of(store: Store, lease: Lease) -> str:
    """Returns the tool of a tool call's lease; "" for a model call."""
    query = select(tool_calls.c.tool).where(
        tool_calls.c.run_id == lease.run_id, tool_calls.c.step == lease.step, tool_calls.c.call == lease.call
    )
    with store.read() as tx:
        return tx.execute(query).scalar() or ""
