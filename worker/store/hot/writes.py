"""The writes of the hot path for one piece of work at a time, whatever the database. Each says whether it landed."""

from __future__ import annotations

from collections.abc import Callable

from worker.core.moves import CallChange, CallView, End, Hot, Move
from worker.core.spending import Spent
from worker.store.hot.interface import Applied, CallApply, CallWork, Lease, Seen, StepRecord, ThinkApply, ThinkWork
from worker.store.session import Store


def claim_think(store: Store, lease: Lease) -> ThinkWork | None:
    """Begins a model call. None: not yours, stop."""
    return store.hot.claim_thinks(store, [lease])[0]


def claim_call(store: Store, lease: Lease) -> CallWork | None:
    """Begins a tool call. None: not yours, stop."""
    return store.hot.claim_calls(store, [lease])[0]


def start_call(store: Store, lease: Lease) -> bool:
    """Notes that a call which must not be repeated is about to have its effect. False: it must not."""
    return store.hot.start_calls(store, [lease])[0]


def reserve(store: Store, lease: Lease, bound_usd: float) -> bool:
    """Notes what the model call that is about to leave may cost at most. False: the attempt was ended meanwhile."""
    return store.hot.reserve(store, lease, bound_usd)


def apply_think(
    store: Store, lease: Lease, decision: Move | End, spent: Spent, record: StepRecord | None = None
) -> Applied | None:
    """Ends a model call's attempt and moves its run on, or ends the run. None: fenced out."""
    return store.hot.apply_thinks(store, [ThinkApply(lease, decision, spent, record)])[0]


def apply_call(
    store: Store,
    lease: Lease,
    decide: Callable[[Hot, CallView], CallChange],
    spent: Spent,
    seen: tuple[Seen, CallView] | None = None,
) -> Applied | None:
    """Ends a tool call's attempt. None: fenced out."""
    return store.hot.apply_calls(store, [CallApply(lease, decide, spent, seen)])[0]
