"""Every state and transition in one place; a test checks that no others occur."""

from __future__ import annotations

from enum import StrEnum


class RunState(StrEnum):
    """A run's state as its owner sees it."""

    QUEUED = "queued"
    ACTIVE = "active"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


RUN_TRANSITIONS = {
    RunState.QUEUED: {RunState.ACTIVE, RunState.CANCELLED},
    RunState.ACTIVE: {RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED},
    # Only `retry` leads out of an ended state; it queues the run again.
    RunState.SUCCEEDED: set[RunState](),
    RunState.FAILED: {RunState.QUEUED},
    RunState.CANCELLED: {RunState.QUEUED},
}

ENDED = (RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED)


class Phase(StrEnum):
    """What an active run does next: a model call now (think) or at its due time (wait), or tool calls (act)."""

    THINK = "think"
    WAIT = "wait"
    ACT = "act"


PHASE_TRANSITIONS = {
    Phase.THINK: {Phase.THINK, Phase.WAIT, Phase.ACT},
    Phase.WAIT: {Phase.THINK, Phase.WAIT, Phase.ACT},
    Phase.ACT: {Phase.ACT, Phase.THINK},
}


class Parked(StrEnum):
    """What a parked run waits for; `probe` and `ready` wait only for a slot."""

    MODEL = "model"
    """A paused endpoint and model; the target is its id."""
    GROUP = "group"
    """A tool group that no worker serves; the target is its queue."""
    PERSON = "person"
    """A person's decision; the target is `approval` or `answer`."""
    PAUSED = "paused"
    PROBE = "probe"
    """A run that will probe a paused endpoint; the target is the endpoint."""
    READY = "ready"


class CallState(StrEnum):
    """A tool call is unclaimed, under a lease, or has its observation."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"


class BatchState(StrEnum):
    """`open` until all runs have ended; pausing is a separate flag, `paused_reason`."""

    OPEN = "open"
    DONE = "done"
    CANCELLED = "cancelled"


class Klass(StrEnum):
    """The class of a batch; interactive runs have their own queue, worker slots and admission slots."""

    INTERACTIVE = "interactive"
    BATCH = "batch"


class Outcome(StrEnum):
    """How an attempt ended. Only `error`, `timeout` and `lost` count as failed tries."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    LOST = "lost"
    FENCED = "fenced"
    HANDED_BACK = "handed_back"
    DEFERRED = "deferred"
    STOPPED = "stopped"


class WorkerState(StrEnum):
    """The state of a worker; only one that is `up` may claim."""

    UP = "up"
    DRAINING = "draining"
    STOPPED = "stopped"
    DEAD = "dead"


QUEUE_THINK = "think"
QUEUE_INTERACTIVE = "think.interactive"
QUEUE_QUARANTINE = "quarantine"
"""The single quarantine queue of version 0.1.0; messages that still arrive are passed on to their kind's own queue."""


def quarantine_queue(queue: str) -> str:
    """Returns the queue on which work of this queue runs alone, with its kind's protection: `quarantine.web`, say."""
    if queue == QUEUE_QUARANTINE or queue.startswith(f"{QUEUE_QUARANTINE}."):
        return queue
    return f"{QUEUE_QUARANTINE}.{queue.removeprefix('tools.')}"


def think_queue(klass: str, quarantined: bool = False) -> str:
    """Returns the queue for a run's model calls."""
    if quarantined:
        return quarantine_queue(QUEUE_THINK)
    return QUEUE_INTERACTIVE if klass == Klass.INTERACTIVE else QUEUE_THINK
