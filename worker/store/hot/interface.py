"""What the hot path writes, whatever the database: claims with which work begins, applies with which it ends.

Each is guarded, and says whether it landed: None or False means not yours, stop. Lock order, here and everywhere: the
run's hot row, then its tool calls, then attempts.
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
    """Seconds from the claim after which the attempt is lost; for a model call, beyond its own time limit."""


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
    """The run's hot row as a tool call's claim saw it; while its `event` stands, nothing of it has moved.

    Of `hot` only what the end of a call depends on is told: phase, step and how many calls are pending.
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
    """What a step leaves in the history: columns of `steps`."""

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
    """What its message carried beyond the chat API (`worker.core.provider_extras`), for `endpoint_id` alone."""
    endpoint_id: str | None = None


@dataclass(frozen=True, slots=True)
class ThinkApply:
    """The end of a model call's attempt: what was decided, what it used, and what it leaves in the history."""

    lease: Lease
    decision: Move | End
    spent: Spent
    record: StepRecord | None = None

    @property
    def steps(self) -> int:
        """How many steps the run has taken if it ends with this."""
        return self.lease.step if self.record else self.lease.step - 1


@dataclass(frozen=True, slots=True)
class CallApply:
    """The end of a tool call's attempt. `decide` is asked under the lock of the run's hot row.

    With what its claim has `seen` it may be asked before, and what it says is written if nothing has moved since.
    """

    lease: Lease
    decide: Callable[[Hot, CallView], CallChange]
    spent: Spent
    seen: tuple[Seen, CallView] | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """What followed from an apply that landed."""

    work_messages: tuple[WorkMessage, ...] = ()
    ended: bool = False


class Database(Protocol):
    """What the writes need of a `worker.store.session.Store`."""

    def write(self) -> AbstractContextManager[Connection]: ...

    def once(self, statement: Executable, values: Mapping[str, Any]) -> Row[*tuple[Any, ...]] | None: ...


class HotWrites(Protocol):
    """The writes over lists; each element is answered by itself, in its place.

    Each element is one atomic write that lands once: it can be sent again with the same token where a commit's answer
    was lost, and `worker.store.hot.readback` tells whether it had landed. An error of the database is raised for the
    whole list, of which some may have landed.
    """

    def claim_thinks(self, db: Database, leases: Sequence[Lease]) -> list[ThinkWork | None]:
        """Begins model calls whose step and attempt still stand, that are due, and whose run and batch go on."""

    def claim_calls(self, db: Database, leases: Sequence[Lease]) -> list[CallWork | None]:
        """Begins tool calls under the same conditions. The hot row is locked first, so no cancel slips between."""

    def start_calls(self, db: Database, leases: Sequence[Lease]) -> list[bool]:
        """The second fenced commit of calls that must not be repeated, just before their effect.

        False: the lease is gone or past its deadline, the run or its batch has ended, or the call was started before;
        the effect must not happen.
        """

    def reserve(self, db: Database, lease: Lease, bound_usd: float) -> bool:
        """Notes what the model call that is about to leave may cost at most. False: the attempt was ended meanwhile.

        Whatever happens then, a call whose usage is never told keeps this bound.
        """

    def apply_thinks(self, db: Database, applies: Sequence[ThinkApply]) -> list[Applied | None]:
        """Ends model calls' attempts and moves their runs on, or ends the runs."""

    def apply_calls(self, db: Database, applies: Sequence[CallApply]) -> list[Applied | None]:
        """Ends tool calls' attempts; of two finishers of a step's last two calls, the second sees the first."""
