"""The protocol shared by attempts of model calls and tool calls: claim, work, apply, and only then send.

A claim or apply whose commit's answer was lost is read back rather than done twice. An attempt that was fenced out
writes only its usage, which counts as waste.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from worker.core.spending import Spent
from worker.core.states import Outcome
from worker.store.control.stopping import note_stopped
from worker.store.hot.due_messages import work_messages_for
from worker.store.hot.interface import Applied, Lease
from worker.store.hot.late_usage import note_waste
from worker.store.hot.readback import landed, reclaimed
from worker.store.recovery.takeover import OpenAttempt, release
from worker.store.session import Store, new_token
from worker.tasks.database_retry import retry_on_outage
from worker.tasks.runtime import Runtime


class Claimed(Protocol):
    """What a claim returns: the work and its lease."""

    @property
    def lease(self) -> Lease: ...


Work = TypeVar("Work", bound=Claimed)


class AttemptFailed(Exception):
    """A failed attempt, which Flower shows as FAILURE. The text contains ids and kinds, never a question's words."""


class Discarded(Exception):
    """The announced work is done, taken, paused or ended; neither an error nor a success."""


@dataclass(frozen=True, slots=True)
class Announced:
    """The work that a message announces. `call` is 0 for a model call."""

    run_id: str
    step: int
    call: int
    attempt: int


def claim(
    rt: Runtime, place: Announced, hold_s: float, take: Callable[[Store, Lease], Work | None], tool: str = ""
) -> Work:
    """Claims the work under a lease of `hold_s` seconds. Raises `Discarded` if this worker may not do it."""
    for _ in range(2):
        lease = Lease(new_token(), place.run_id, place.step, place.call, place.attempt, rt.identity.id, hold_s)
        work, doubtful = retry_on_outage("claim", lambda at=lease: take(rt.store, at), rt.draining.is_set)  # type: ignore[misc]
        if work is not None:
            return work
        if doubtful and reclaimed(rt.store, lease):
            # The claim landed, but its answer with the work was lost: hand it back, to be claimed again.
            held = OpenAttempt(lease, tool, Outcome.HANDED_BACK)
            follow_up(rt, place.run_id, release(rt.store, held, {}, "claim unheard") or Applied())
        if not rt.identity.refused():
            break
    raise Discarded


def apply(rt: Runtime, lease: Lease, write: Callable[[], Applied | None], spent: Spent) -> Applied:
    """Writes the result; the caller sends what follows. Raises `Discarded` if the attempt was fenced out."""
    applied, doubtful = retry_on_outage("apply", write, rt.draining.is_set)
    if applied is not None:
        return applied
    if doubtful and landed(rt.store, lease):
        with rt.store.read() as tx:
            return Applied(tuple(work_messages_for(tx, [lease.run_id])), ended=True)
    retry_on_outage("waste", lambda: note_waste(rt.store, lease, replace(spent, outcome=Outcome.FENCED, wasted=True)))
    retry_on_outage("stopped", lambda: note_stopped(rt.store, lease.run_id))
    raise Discarded


def follow_up(rt: Runtime, run_id: str, applied: Applied) -> None:
    """After the commit: sends messages, notifies followers of the run, and wakes the admitter if the run ended."""
    rt.dispatcher.changed((run_id,))
    if applied.work_messages:
        rt.dispatcher.send(applied.work_messages)
    if applied.ended:
        rt.wake_admitter()
