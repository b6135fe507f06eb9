"""The shapes of the API's answers, for the schema. `api.views` builds the answers, which are not validated."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from pydantic import BaseModel, Field

from worker.core.states import CallState, Klass, Outcome, RunState

T = TypeVar("T")
Object = dict[str, Any]


class Page(BaseModel, Generic[T]):
    """Items, and the cursor of the next page (null: this is the last)."""

    items: list[T]
    next: str | None


class ErrorDetail(BaseModel):
    """What is wrong, and what to do."""

    code: str = Field(examples=["not_found"])
    message: str = Field(examples=["There is no run 'r1'."])
    hint: str = Field(examples=["List them with `stepmill run list`."])
    line: int | None = Field(None, description="the line of the input that is at fault; absent where none is")


class ErrorBody(BaseModel):
    """The body of every error."""

    error: ErrorDetail


class Tokens(BaseModel):
    """Tokens of model calls."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0


class Waste(BaseModel):
    """Usage of wasted attempts: repeated, lost and fenced-out ones."""

    tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    attempts: int = 0


class Counts(BaseModel):
    """Runs by state."""

    queued: int
    active: int
    succeeded: int
    failed: int
    cancelled: int


class RunError(BaseModel):
    """Why a run failed."""

    code: str
    message: str


class Result(BaseModel):
    """The result record of a run. If the run cannot be shown, only `run_id` and `error` are filled."""

    custom_id: str | None
    run_id: str | None
    question: str | None
    status: RunState | None
    answer: str | None
    partial_answer: str | None
    error: RunError | None
    agent: str | None
    model: str | None
    simulated: bool | None
    steps: int | None
    usage: Tokens
    cost_usd: float | None
    wasted: Waste
    attempts: int | None
    started_at: str | None
    finished_at: str | None
    metadata: Object | None
    expected: str | None = None
    exact_match: bool | None = None
    f1: float | None = None


class Run(Result):
    """A run, as in lists."""

    reserved_usd: float
    batch_id: str
    paused: bool


class Call(BaseModel):
    """A tool call of a step."""

    call: int
    tool: str
    args: Any
    state: CallState
    outcome: str | None
    observation: str | None
    queue: str
    attempt: int
    started_at: str | None
    finished_at: str | None
    task_id: str


class Step(BaseModel):
    """A model call and the tool calls that it requested."""

    step: int
    kind: str
    thought: str | None
    reply: str | None
    notice: str | None
    answer: str | None
    model: str | None
    finish_reason: str | None
    usage: Tokens
    cost_usd: float | None
    latency_s: float | None
    created_at: str | None
    task_id: str | None = None
    calls: list[Call]


class Attempt(BaseModel):
    """One attempt at a model call (`call` 0) or at a tool call."""

    step: int
    call: int
    attempt: int
    worker_id: str | None
    queue: str | None
    claimed_at: str | None
    ended_at: str | None
    outcome: Outcome | None
    error: str | None
    usage: Tokens
    cost_usd: float | None
    reserved_usd: float | None
    wasted: bool
    task_id: str


class RunDetails(Run):
    """A run with its steps, calls and attempts, and why it waits."""

    klass: Klass
    dialect: str | None
    phase: str | None
    waiting: str | None
    task_id: str | None
    trace: list[Step]
    attempts_log: list[Attempt]


class RunChanged(RunDetails):
    """The run after the call, and whether the call changed anything."""

    changed: bool


class Asked(BaseModel):
    """The run of a question, and its batch, which contains no other run."""

    run_id: str
    batch_id: str
    existing: bool
    simulated: bool


class HeldCall(BaseModel):
    """A call that waits for a person: for `approval`, or for an `answer`."""

    run_id: str
    step: int
    call: int
    tool: str
    args: Any
    held: str


class HeldCalls(BaseModel):
    held: list[HeldCall]


class Approved(BaseModel):
    run_id: str
    approved: HeldCall


class RefusedCall(BaseModel):
    run_id: str
    refused: HeldCall


class AnsweredCall(BaseModel):
    run_id: str
    answered: HeldCall


class Artifact(BaseModel):
    """A file made by a tool; `href` is its URL."""

    id: str
    step: int
    call: int
    name: str
    media_type: str
    size: int
    sha256: str | None
    created_at: float
    href: str


class Artifacts(BaseModel):
    items: list[Artifact]


class Refuses(BaseModel):
    """Something that a model endpoint refuses, with its message."""

    feature: str
    value: Any
    words: str
    said: str
    forgotten_in_s: int
