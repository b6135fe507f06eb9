"""The shapes of answers about batches."""

from __future__ import annotations

from pydantic import BaseModel, Field

from api.shapes import Counts, Object, Tokens, Waste
from worker.core.states import BatchState, Klass


class Batch(BaseModel):
    """A batch, as in lists."""

    batch_id: str
    name: str
    klass: Klass
    state: BatchState
    paused_reason: str | None
    paused_by: str | None
    weight: float
    max_failures: int | str | None
    total: int
    counts: Counts
    percent: float
    steps: int
    usage: Tokens
    cost_usd: float | None
    reserved_usd: float
    budget_usd: float | None
    wasted: Waste
    attempts: int
    created_at: str | None
    finished_at: str | None
    runs_per_s: float | None
    seconds_left: float | None
    simulated: bool


class WaitingRuns(BaseModel):
    """How many runs wait for one reason."""

    reason: str
    runs: int


class BatchDetails(Batch):
    """A batch in detail."""

    errors: dict[str, int]
    waiting: list[WaitingRuns]
    scores: dict[str, float | int] | None
    options: Object


class BatchChanged(BatchDetails):
    """The batch after the call, and whether the call changed anything."""

    changed: bool


class BatchRetried(BatchChanged):
    """The batch after the call, and how many runs are queued again."""

    retried: int


class RefusedLine(BaseModel):
    """A line of the input that was skipped, and why."""

    line: int
    reason: str


class Submitted(BaseModel):
    """The outcome of a submission."""

    batch_id: str
    name: str
    taken: int
    refused: list[RefusedLine]
    refused_count: int
    existing: bool = Field(description="whether this submission_key had been taken before")
    state: BatchState
    simulated: bool
    notes: list[str]
    watch: str
