"""The interface of the hot-path writes for any database: claims begin work, applies end it.

Each write is guarded and returns whether it landed: None or False means that the work is not the caller's, who must
stop. The lock order, here and everywhere, is the run's hot row, then its tool calls, then attempts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Connection, Executable, Row

from worker.core.moves import CallChange, CallView, End, Hot, Move
from worker.core.records import JsonObject
from worker.core.spending import Spent
from worker.core.work_messages import WorkMessage


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to do one piece of work and to write its result. `call` is 0 for a model call."""

    token: str
    run_id: str
    step: int
    call: int
    attempt: int
    worker_id: str
    deadline_s: float
    """Seconds from the claim after which the attempt is lost; a model call's own time limit is added."""


@dataclass(frozen=True, slots=True)
class ThinkWork:
    """A claimed model call."""

    lease: Lease
    hot: Hot
    batch_id: str
    klass: str
    config_hash: str


@dataclass(frozen=True, slots=True)
class Seen:
    """The run's hot row as a tool call's claim saw it; while its `event` is the same, the row has not changed.

    `hot` has only the fields that the end of a call depends on: phase, step and the number of pending calls.
    """

    hot: Hot
    event: int


@dataclass(frozen=True, slots=True)
class CallWork:
    """A claimed tool call."""

    lease: Lease
    tool: str
    args: dict[str, Any]
    batch_id: str
    config_hash: str
    view: CallView
    seen: Seen | None = None


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What a step adds to the history: columns of `steps`."""

    kind: str
    reply: str
    kept: str
    thought: str
    finish_reason: str | None
    model: str
    message: JsonObject | None = None
    notice: str | None = None
    answer: str | None = None
    latency_s: float | None = None
    extras: JsonObject | None = None
    """Provider-specific fields of the message (`worker.core.provider_extras`), sent back to `endpoint_id` only."""
    endpoint_id: str | None = None


@dataclass(frozen=True, slots=True)
class ThinkApply:
    """The end of a model call's attempt: what was decided, what it used, and its step for the history."""

    lease: Lease
    decision: Move | End
    spent: Spent
    record: StepRecord | None = None

    @property
    def steps(self) -> int:
        """How many steps the run has taken if this ends it."""
        return self.lease.step if self.record else self.lease.step - 1


@dataclass(frozen=True, slots=True)
class CallApply:
    """The end of a tool call's attempt. `decide` is called while the run's hot row is locked.

    With what the claim has `seen`, it may be called earlier; its result is written if the row has not changed since.
    """

    lease: Lease
    decide: Callable[[Hot, CallView], CallChange]
    spent: Spent
    seen: tuple[Seen, CallView] | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of an apply that landed: messages to send, and whether the run ended."""

    work_messages: tuple[WorkMessage, ...] = ()
    ended: bool = False


class Database(Protocol):
    """The part of `worker.store.session.Store` that the writes need."""

    def write(self) -> AbstractContextManager[Connection]: ...

    def once(self, statement: Executable, values: Mapping[str, Any]) -> Row[*tuple[Any, ...]] | None: ...


class HotWrites(Protocol):
    """The hot-path writes over lists; the result has one entry per element, in the same order.

    Each element is one atomic write that lands once. If the answer to its commit was lost, it can be repeated with the
    same token, and `worker.store.hot.readback` reads whether it had landed. A database error is raised for the whole
    list, of which some elements may have landed.
    """

    def claim_thinks(self, db: Database, leases: Sequence[Lease]) -> list[ThinkWork | None]:
        """Begins model calls that are due, if step and attempt are current and neither run nor batch is stopped."""

    def claim_calls(self, db: Database, leases: Sequence[Lease]) -> list[CallWork | None]:
        """Begins tool calls under the same conditions. The hot row is locked first, so no cancel comes in between."""

    def start_calls(self, db: Database, leases: Sequence[Lease]) -> list[bool]:
        """Makes the second fenced commit of calls that must not be repeated, just before their effect.

        False: the effect must not happen, because the lease is gone or past its deadline, the run or its batch has
        ended, or the call was already started.
        """

    def reserve(self, db: Database, lease: Lease, bound_usd: float) -> bool:
        """Records the most a model call may cost, just before it is sent. False: the attempt has already been ended.

        A call whose usage never becomes known keeps this bound as its cost.
        """

    def apply_thinks(self, db: Database, applies: Sequence[ThinkApply]) -> list[Applied | None]:
        """Ends model calls' attempts and moves their runs on, or ends the runs."""

    def apply_calls(self, db: Database, applies: Sequence[CallApply]) -> list[Applied | None]:
        """Ends tool calls' attempts. If a step's last two calls finish at once, the second write sees the first."""
