"""The writes of the hot path for one piece of work, on any database. Each returns whether it landed."""

from __future__ import annotations

from collections.abc import Callable

from worker.core.moves import CallChange, CallView, End, Hot, Move
from worker.core.spending import Spent
from worker.store.hot.interface import Applied, CallApply, CallWork, Lease, Seen, StepRecord, ThinkApply, ThinkWork
from worker.store.session import Store


def claim_think(store: Store, lease: Lease) -> ThinkWork | None:
    """Begins a model call. None: it is not the caller's, who must stop."""
    return store.hot.claim_thinks(store, [lease])[0]


def claim_call(store: Store, lease: Lease) -> CallWork | None:
    """Begins a tool call. None: it is not the caller's, who must stop."""
    return store.hot.claim_calls(store, [lease])[0]


def start_call(store: Store, lease: Lease) -> bool:
    """Records that a call which must not be repeated is about to take effect. False: it must not."""
    return store.hot.start_calls(store, [lease])[0]


def reserve(store: Store, lease: Lease, bound_usd: float) -> bool:
    """Records the most a model call may cost, just before it is sent. False: the attempt has already been ended."""
    return store.hot.reserve(store, lease, bound_usd)


def apply_think(
    store: Store, lease: Lease, decision: Move | End, spent: Spent, record: StepRecord | None = None
) -> Applied | None:
    """Ends a model call's attempt, and moves its run on or ends it. None: the attempt was fenced out."""
    return store.hot.apply_thinks(store, [ThinkApply(lease, decision, spent, record)])[0]


def apply_call(
    store: Store,
    lease: Lease,
    decide: Callable[[Hot, CallView], CallChange],
    spent: Spent,
    seen: tuple[Seen, CallView] | None = None,
) -> Applied | None:
    """Ends a tool call's attempt. None: it was fenced out."""
    return store.hot.apply_calls(store, [CallApply(lease, decide, spent, seen)])[0]
