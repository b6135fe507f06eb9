"""Reads whether a write of the hot path has landed, for commits whose answer was lost."""

from __future__ import annotations

from sqlalchemy import bindparam, select

from worker.core.states import Outcome
from worker.store.hot.interface import Lease
from worker.store.hot.parameters import THIS_ATTEMPT, THIS_CALL, THIS_RUN, key_of
from worker.store.schema.tables import active, attempts, tool_calls
from worker.store.session import NOW, Store

_CLAIMED = select(active.c.token).where(THIS_RUN, active.c.token == bindparam("key_token"))
_CALL_CLAIMED = select(tool_calls.c.token).where(*THIS_CALL, tool_calls.c.token == bindparam("key_token"))
_STARTED = select(tool_calls.c.started_at).where(
    *THIS_CALL, tool_calls.c.token == bindparam("key_token"), tool_calls.c.lease_until > NOW
)
_OUTCOME = select(attempts.c.outcome).where(THIS_ATTEMPT)


def reclaimed(store: Store, lease: Lease) -> bool:
    """Returns whether a claim with this token has landed."""
    with store.read() as tx:
        return tx.execute(_CALL_CLAIMED if lease.call else _CLAIMED, key_of(lease)).first() is not None


def started(store: Store, lease: Lease) -> bool:
    """Returns whether `start_call` has landed and the lease is still valid."""
    with store.read() as tx:
        return tx.execute(_STARTED, key_of(lease)).scalar() is not None


def landed(store: Store, lease: Lease) -> bool:
    """Returns whether an apply with a result under this lease has landed.

    False for an attempt that another process ended (lost, timed out, handed back, stopped): its result was dropped.
    """
    with store.read() as tx:
        outcome = tx.execute(_OUTCOME, key_of(lease)).scalar()
    return outcome in (Outcome.OK, Outcome.ERROR, Outcome.DEFERRED)
