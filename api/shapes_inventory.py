"""The shapes of answers about endpoints, agents, tools, workers, queues, usage and health."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from api.shapes import Object, Page, Refuses, Tokens, Waste
from worker.core.states import WorkerState


class ModelEndpoint(BaseModel):
    """A model endpoint, and why it is paused if it is."""

    endpoint_id: str
    base_url: str
    model: str
    reason: str | None
    paused_by: str | None
    retry_in_s: float | None
    waiting_runs: int
    needs_operator: bool
    remedy: str | None
    state: Literal["open", "paused"]
    learned: list[Refuses]


class ModelChanged(ModelEndpoint):
    """The endpoint after the call, and whether (or how much) the call changed."""

    changed: bool | int


class AgentShown(BaseModel):
    """An agent, as a new run would be configured now, or with the `problem` that prevents it."""

    model_config = ConfigDict(extra="allow")

    name: str
    model: str | None
    base_url: str
    dialect: str
    tools: list[str]
    instructions: str
    max_steps: int
    simulated: bool | None = None
    problem: str | None = None


class ToolShown(BaseModel):
    """A tool, its limits, and how many workers serve it."""

    name: str
    description: str
    group: str
    queue: str
    parameters: Object
    idempotent: bool
    timeout_s: float
    max_attempts: int
    origin: str
    workers: int


class ToolProblem(BaseModel):
    """A module of tools that could not be loaded, and why."""

    module: str
    reason: str


class Tools(Page[ToolShown]):
    """All tools, and the modules that could not be loaded."""

    problems: list[ToolProblem]


class WorkerShown(BaseModel):
    """A worker process."""

    worker_id: str
    name: str
    host: str
    pid: int
    queues: Any
    pool: str
    slots: int
    tools: Any
    state: WorkerState
    stuck: int
    violations: int
    started_at: str | None
    beat_at: str | None
    ended_at: str | None


class QueueShown(BaseModel):
    """A queue: work messages in Redis (null: Redis is away), due work that is unclaimed, workers."""

    queue: str
    length: int | None
    waiting: int
    oldest_age_s: float | None
    workers: int


class InvariantCheck(BaseModel):
    name: str
    says: str


class Violation(InvariantCheck):
    """A rule that must always hold, and is violated now."""

    subject: Any
    seen: Any


class Invariants(Page[Violation]):
    """Present violations, the counts of live workers, and the rules that are checked."""

    counted: int
    checks: list[InvariantCheck]


class DayWaste(Waste):
    reserved_usd: float


class Day(BaseModel):
    """Usage of one day (UTC)."""

    day: str
    model_calls: int
    tool_calls: int
    usage: Tokens
    cost_usd: float | None
    unpriced_calls: int
    reserved_usd: float
    wasted: DayWaste


class Alive(BaseModel):
    status: Literal["ok"]


class Check(BaseModel):
    ok: bool
    message: str


class Ready(BaseModel):
    """Whether this process is ready; `checks` by name."""

    status: Literal["ready", "not ready"]
    checks: dict[str, Check]
