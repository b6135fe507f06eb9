"""The types of `worker.core.machine`: the state that decisions read, events, and decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from worker.core.errors import ErrorCode
from worker.core.states import Outcome, Parked, Phase, RunState


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run is, and the tries of its current model call. A new step begins with no tries."""

    phase: str = Phase.THINK
    step: int = 1
    attempt: int = 1
    failures: int = 0
    deaths: int = 0
    quarantined: bool = False
    pending: int = 0
    """The number of the step's tool calls that have no observation yet."""


@dataclass(frozen=True, slots=True)
class State(Place):
    """What decisions change: the run's place, and what persists over its steps.

    Each field is a column of the hot row. Claims read and moves write every field, so a new one needs only a default
    here and a migration.
    """

    malformed: int = 0
    final_reason: str | None = None
    last_words: str | None = None
    folds: int = 0
    """How often the history was folded because it did not fit the model's context."""
    output_raises: int = 0
    """How often the output limit was raised because the model's thinking used it up."""


@dataclass(frozen=True, slots=True)
class Hot(State):
    """The part of the hot row that decisions read: the run's state, and its money, which they do not change."""

    cost_usd: float = 0.0
    reserved_usd: float = 0.0
    """The upper bound of calls with unknown usage."""
    allotment_usd: float | None = None
    """What the run may use of its batch's budget; None if there is no budget."""


@dataclass(frozen=True, slots=True)
class NewCall:
    """A tool call to store. One with an observation is done at once (bad arguments, an unknown tool)."""

    tool: str
    args: Mapping[str, Any]
    queue: str
    call_id: str | None = None
    observation: str | None = None
    held: str | None = None
    """What a person must give: `approval` before the call begins, or an `answer` in its place."""


@dataclass(frozen=True, slots=True)
class Tries:
    """The tries of a tool call so far."""

    attempt: int = 1
    failures: int = 0
    deaths: int = 0
    quarantined: bool = False


@dataclass(frozen=True, slots=True)
class CallView(Tries):
    """What decisions read about a tool call: its tries, and properties of its tool."""

    started: bool = False
    idempotent: bool = False
    max_attempts: int = 1
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Parking:
    """What a run is parked for: a kind, and which target of that kind."""

    kind: Parked
    target: str | None = None


# ---- events: what happened ----


@dataclass(frozen=True, slots=True)
class Acted:
    """The model asked for tools. `looping` means that these calls complete a loop (see `worker.core.loops`)."""

    calls: tuple[NewCall, ...]
    words: str
    looping: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    answer: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A malformed reply, about which a notice tells the model what was wrong and what is allowed.

    `cut`: the output limit cut off this reply and every unreadable one directly before it. `reason` is why it could
    not be read, as in the notice.
    """

    words: str
    cut: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class UsedUp:
    """Thinking used up the whole output limit, and nothing was said."""


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """A model call that failed for a temporary reason. `counts` is False for waits that are not failures."""

    message: str
    retry_in_s: float
    reason: str
    counts: bool = True


@dataclass(frozen=True, slots=True)
class Rejected:
    """A model call that would fail again if repeated."""

    code: ErrorCode
    message: str


@dataclass(frozen=True, slots=True)
class Overflowed:
    """The conversation did not fit the model's context: it is folded and tried again, a limited number of times."""

    message: str


@dataclass(frozen=True, slots=True)
class OverBudget:
    """The next call was not made, because it may cost more than is left of the run's allotment."""

    bound_usd: float


@dataclass(frozen=True, slots=True)
class GivenBack:
    """An attempt that ended without a result: handed back at shutdown, deferred, or its worker died."""

    outcome: str
    retry_in_s: float = 0.0
    reason: str | None = None
    park: Parking | None = None
    """What the run is parked for; None: it is not parked."""


@dataclass(frozen=True, slots=True)
class CallFinished:
    """A tool call has its observation, successful or not."""

    observation: str
    outcome: str = Outcome.OK


@dataclass(frozen=True, slots=True)
class CallRetried:
    """A tool attempt failed and may be tried again."""

    message: str
    retry_in_s: float


ThinkEvent = Acted | Answered | Unreadable | UsedUp | ModelFailed | Rejected | Overflowed | OverBudget | GivenBack
CallEvent = CallFinished | CallRetried | GivenBack


# ---- decisions: what to write ----


@dataclass(frozen=True, slots=True)
class Move:
    """The run continues with this state and these new calls. Its next work may begin in `due_in_s` seconds."""

    state: State
    wait_reason: str | None = None
    park: Parking | None = None
    """What the run is parked for; None: it is not parked."""
    due_in_s: float = 0.0
    calls: tuple[NewCall, ...] = ()


@dataclass(frozen=True, slots=True)
class End:
    """The run ends."""

    state: RunState
    code: ErrorCode | None = None
    message: str | None = None
    answer: str | None = None
    partial: str | None = None


@dataclass(frozen=True, slots=True)
class CallDone:
    """A tool call has its observation. `run` is what follows for its run; None: the step has other open calls."""

    observation: str
    outcome: str
    run: Place | End | None = None


@dataclass(frozen=True, slots=True)
class CallAgain:
    """A tool call may be claimed again in `due_in_s` seconds, as if it had not begun."""

    tries: Tries
    wait_reason: str | None = None
    due_in_s: float = 0.0


CallChange = CallDone | CallAgain
