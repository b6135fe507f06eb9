"""What a decision rests on, what may happen, and what may be decided: the vocabulary of `worker.core.machine`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from worker.core.errors import ErrorCode
from worker.core.states import Outcome, Parked, Phase, RunState


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run stands, and how its present model call has fared. A new step begins without any tries."""

    phase: str = Phase.THINK
    step: int = 1
    attempt: int = 1
    failures: int = 0
    deaths: int = 0
    quarantined: bool = False
    pending: int = 0
    """How many tool calls of the step have no observation yet."""


@dataclass(frozen=True, slots=True)
class State(Place):
    """What decisions change of a run: where it stands, and what lasts over its steps.

    Each field is a column of the hot row. One that is added here, with a default, claims read and moves write; beside a
    migration nothing else has to name it.
    """

    malformed: int = 0
    final_reason: str | None = None
    last_words: str | None = None
    folds: int = 0
    """How often the history was shortened because it did not fit the model's context."""
    output_raises: int = 0
    """How often the output limit was raised, since the model's thinking used it up."""


@dataclass(frozen=True, slots=True)
class Hot(State):
    """The part of the hot row that decisions rest on: the run's state, and its money, which they only read."""

    cost_usd: float = 0.0
    reserved_usd: float = 0.0
    """What calls of unknown usage may have cost at most."""
    allotment_usd: float | None = None
    """What the run may use of its batch's budget; None: the batch has none."""


@dataclass(frozen=True, slots=True)
class NewCall:
    """A tool call to store. With an observation it is done at once (bad arguments, an unknown tool)."""

    tool: str
    args: Mapping[str, Any]
    queue: str
    call_id: str | None = None
    observation: str | None = None
    held: str | None = None
    """`approval` or `answer`: what a person must give before the call begins, or instead of it."""


@dataclass(frozen=True, slots=True)
class Tries:
    """How a tool call has fared so far."""

    attempt: int = 1
    failures: int = 0
    deaths: int = 0
    quarantined: bool = False


@dataclass(frozen=True, slots=True)
class CallView(Tries):
    """The part of a tool call's row that decisions rest on."""

    started: bool = False
    idempotent: bool = False
    max_attempts: int = 1
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Parking:
    """What a run is parked for: a kind, and which one of it."""

    kind: Parked
    target: str | None = None


# ---- events: what happened ----


@dataclass(frozen=True, slots=True)
class Acted:
    """The model asked for tools. `looping` says that this call ends a loop (same call thrice, or two in turn)."""

    calls: tuple[NewCall, ...]
    words: str
    looping: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    answer: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A malformed reply; the notice tells the model what was wrong and what is allowed.

    `cut` says that the output limit cut it off, and every unreadable reply right before it too. `reason` is why it
    could not be read, in the notice's words.
    """

    words: str
    cut: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class UsedUp:
    """Thinking used up the whole output limit, and nothing was said."""


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """A model call that failed for a reason that may pass. `counts` is False for waits that are nobody's failure."""

    message: str
    retry_in_s: float
    reason: str
    counts: bool = True


@dataclass(frozen=True, slots=True)
class Rejected:
    """A model call that will fail however often it is repeated."""

    code: ErrorCode
    message: str


@dataclass(frozen=True, slots=True)
class Overflowed:
    """The conversation did not fit the model's context: it is folded and tried again, as often as that helps."""

    message: str


@dataclass(frozen=True, slots=True)
class OverBudget:
    """The next call was not made: it may cost more than is left of the run's allotment."""

    bound_usd: float


@dataclass(frozen=True, slots=True)
class GivenBack:
    """An attempt that ended without result: handed back at shutdown, put off, or its worker died."""

    outcome: str
    retry_in_s: float = 0.0
    reason: str | None = None
    park: Parking | None = None
    """What the run waits for, when it gives its slot to others meanwhile."""


@dataclass(frozen=True, slots=True)
class CallFinished:
    """A tool call has its observation, for better or worse."""

    observation: str
    outcome: str = Outcome.OK


@dataclass(frozen=True, slots=True)
class CallRetried:
    """A tool attempt failed and may be tried again."""

    message: str
    retry_in_s: float


ThinkEvent = Acted | Answered | Unreadable | UsedUp | ModelFailed | Rejected | Overflowed | OverBudget | GivenBack
CallEvent = CallFinished | CallRetried | GivenBack


# ---- decisions: what shall be written ----


@dataclass(frozen=True, slots=True)
class Move:
    """The run goes on: its whole new state, and the calls that begin. `due_in_s` is when its next work may begin."""

    state: State
    wait_reason: str | None = None
    park: Parking | None = None
    """What the run waits for, when it gives its slot to others meanwhile; None: it is not parked."""
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
    """A tool call has its observation. What follows for its run; None: other calls of the step are still out."""

    observation: str
    outcome: str
    run: Place | End | None = None


@dataclass(frozen=True, slots=True)
class CallAgain:
    """A tool call goes back to be claimed once more, in `due_in_s`, as if it had not begun."""

    tries: Tries
    wait_reason: str | None = None
    due_in_s: float = 0.0


CallChange = CallDone | CallAgain
