"""Every state and every transition, in one place. A test holds that nothing else is possible."""

from __future__ import annotations

from enum import StrEnum


class RunState(StrEnum):
    """A run's life as its owner sees it."""

    QUEUED = "queued"
    ACTIVE = "active"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


RUN_TRANSITIONS = {
    RunState.QUEUED: {RunState.ACTIVE, RunState.CANCELLED},
    RunState.ACTIVE: {RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED},
    # Only `retry` leads out of an ended state, and it begins the run anew.
    RunState.SUCCEEDED: set[RunState](),
    RunState.FAILED: {RunState.QUEUED},
    RunState.CANCELLED: {RunState.QUEUED},
}

ENDED = (RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED)


class Phase(StrEnum):
    """What an active run does next: a model call (now, or once its due time has come), or its tool calls."""

    THINK = "think"
    WAIT = "wait"
    ACT = "act"


PHASE_TRANSITIONS = {
    Phase.THINK: {Phase.THINK, Phase.WAIT, Phase.ACT},
    Phase.WAIT: {Phase.THINK, Phase.WAIT, Phase.ACT},
    Phase.ACT: {Phase.ACT, Phase.THINK},
}


class Parked(StrEnum):
    """What a run waits for that has given its slot to others; `probe` and `ready` wait for nothing but a slot."""

    MODEL = "model"
    """An endpoint and model that is paused; its id is the target."""
    GROUP = "group"
    """A tool group that no worker serves; its queue is the target."""
    PERSON = "person"
    """Somebody's word; `approval` or `answer` is the target."""
    PAUSED = "paused"
    PROBE = "probe"
    """It tries a paused endpoint for all; the endpoint is the target."""
    READY = "ready"


class CallState(StrEnum):
    """A tool call: to be claimed, under a lease, or with its observation."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"


class BatchState(StrEnum):
    """`open` until all its runs have ended; `paused_reason` is a flag beside it."""

    OPEN = "open"
    DONE = "done"
    CANCELLED = "cancelled"


class Klass(StrEnum):
    """Interactive runs have a queue, worker slots and admission slots of their own."""

    INTERACTIVE = "interactive"
    BATCH = "batch"


class Outcome(StrEnum):
    """How an attempt ended. Only `error`, `timeout` and `lost` count as tries."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    LOST = "lost"
    FENCED = "fenced"
    HANDED_BACK = "handed_back"
    DEFERRED = "deferred"
    STOPPED = "stopped"


class WorkerState(StrEnum):
    """A worker process; only one that is `up` may claim."""

    UP = "up"
    DRAINING = "draining"
    STOPPED = "stopped"
    DEAD = "dead"


QUEUE_THINK = "think"
QUEUE_INTERACTIVE = "think.interactive"
QUEUE_QUARANTINE = "quarantine"
"""All of quarantine by one name. Version 0.1.0 sent everything here; what still arrives is passed on to its kind's."""


def quarantine_queue(queue: str) -> str:
    """Where work of this queue is tried alone, under the protection of its kind: `quarantine.web`, say."""
    if queue == QUEUE_QUARANTINE or queue.startswith(f"{QUEUE_QUARANTINE}."):
        return queue
    return f"{QUEUE_QUARANTINE}.{queue.removeprefix('tools.')}"


def think_queue(klass: str, quarantined: bool = False) -> str:
    """The queue on which a run's model calls are announced."""
    if quarantined:
        return quarantine_queue(QUEUE_THINK)
    return QUEUE_INTERACTIVE if klass == Klass.INTERACTIVE else QUEUE_THINK
