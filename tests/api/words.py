"""Helpers that bring a run into the state a test needs, without workers."""

from __future__ import annotations

from tests.store.conftest import World
from worker.core.config import RunConfig
from worker.core.errors import ErrorCode
from worker.core.machine import decide_call, decide_think
from worker.core.moves import Acted, Answered, CallFinished, NewCall, Rejected
from worker.core.records import Usage
from worker.core.spending import Spent
from worker.core.work_messages import WorkMessage
from worker.store.hot.interface import StepRecord
from worker.store.hot.writes import apply_call, apply_think

SPENT = Spent("ok", usage=Usage(100, 10, 20), cost_usd=0.5, billed=True)


def act(world: World, work_message: WorkMessage, calls: int = 1) -> list[WorkMessage]:
    """The model asks for tools; returns their work messages."""
    work = world.think(work_message)
    wanted = tuple(NewCall("calculator", {"expression": f"{n}+1"}, "tools.local") for n in range(calls))
    record = StepRecord("actions", "Action: calculator", "Action: calculator", "I add.", "stop", "practice")
    applied = apply_think(
        world.store, work.lease, decide_think(work.hot, Acted(wanted, "I add."), RunConfig()), SPENT, record
    )
    assert applied is not None
    return list(applied.work_messages)


def observe(world: World, work_message: WorkMessage, text: str = "2") -> list[WorkMessage]:
    """A tool call ends; returns the work messages of what follows."""
    lease = world.call(work_message).lease
    applied = apply_call(world.store, lease, lambda h, v: decide_call(h, v, CallFinished(text)), Spent("ok"))
    assert applied is not None
    return list(applied.work_messages)


def answer(world: World, work_message: WorkMessage, text: str) -> None:
    """The model answers; the run ends."""
    work = world.think(work_message)
    record = StepRecord("answer", f"Answer: {text}", f"Answer: {text}", "I know.", "stop", "practice", answer=text)
    applied = apply_think(world.store, work.lease, decide_think(work.hot, Answered(text), RunConfig()), SPENT, record)
    assert applied is not None and applied.ended


def fail(world: World, work_message: WorkMessage, code: ErrorCode = ErrorCode.MODEL_REJECTED) -> None:
    """The provider refuses; the run fails with that code."""
    work = world.think(work_message)
    decision = decide_think(work.hot, Rejected(code, "The provider refused the request."), RunConfig())
    applied = apply_think(world.store, work.lease, decision, Spent("error", error="refused", billed=True))
    assert applied is not None and applied.ended


def admit_work_messages(world: World) -> dict[str, WorkMessage]:
    """Admits what there is room for; the work messages by run."""
    return {work_message.run_id: work_message for work_message in world.admit().work_messages}
