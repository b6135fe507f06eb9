"""One tool call: claims it, commits its start if it must not be repeated, runs the tool, applies, sends messages."""

from __future__ import annotations

import logging
import random
import time
from dataclasses import replace

from celery.exceptions import SoftTimeLimitExceeded

from tools.base import Tool, ToolContext, ToolFailure
from worker.core.errors import StopReason
from worker.core.machine import decide_call
from worker.core.moves import CallChange, CallEvent, CallFinished, CallRetried, CallView, GivenBack, Hot
from worker.core.retry import delay_s
from worker.core.spending import Spent
from worker.core.states import Outcome
from worker.faults import reach
from worker.limits.limiter import RetryAt
from worker.llm.address import without_password
from worker.llm.watchdog import Abort
from worker.store.hot.interface import Applied, CallWork
from worker.store.hot.readback import started
from worker.store.hot.writes import apply_call, claim_call, start_call
from worker.tasks.artifacts import StoredArtifacts, StoredNotes
from worker.tasks.attempt import Announced, AttemptFailed, Discarded, apply, claim, follow_up
from worker.tasks.database_retry import retry_on_outage
from worker.tasks.runtime import Runtime

log = logging.getLogger(__name__)

MARGIN_S = 15.0
"""Seconds by which a lease outlasts the tool's own time limit."""


def call_tool(rt: Runtime, tool: Tool, run_id: str, step: int, call: int, attempt: int) -> str:
    """Does one tool call. Raises `Discarded` if this worker may not do it, and `AttemptFailed` if the tool failed."""
    place = Announced(run_id, step, call, attempt)
    work = claim(rt, place, tool.timeout_s + MARGIN_S, claim_call, tool.name)
    with rt.in_flight.attempt(work.lease.token, run_id, work.lease.deadline_s) as abort:
        if rt.draining.is_set():
            event: CallEvent = GivenBack(Outcome.HANDED_BACK, reason="its worker was stopped")
        else:
            event = _shared(rt, tool, work, abort)
    spent = _spent(event)
    reach("call.done")
    applied = _apply(rt, tool, work, event, spent)
    reach("call.applied")
    follow_up(rt, run_id, applied)
    if spent.error:
        raise AttemptFailed(f"{tool.name} failed ({spent.outcome})")
    return spent.outcome


def _shared(rt: Runtime, tool: Tool, work: CallWork, abort: Abort) -> CallEvent:
    """Returns a cached observation, or runs the tool if one of its concurrent slots is free."""
    known = rt.tool_limits.known(tool, work.args)
    if known is not None:
        return CallFinished(known)
    lease = work.lease
    slot = rt.tool_limits.slot(tool, f"{lease.run_id}.{lease.step}.{lease.call}")
    if isinstance(slot, RetryAt):
        wait_s = max(0.05, slot.due_s - time.monotonic())
        return GivenBack(Outcome.DEFERRED, wait_s, f"{tool.name} allows {tool.concurrency} calls at once")
    try:
        if not _may_start(rt, tool, work):
            raise Discarded
        event = _run(rt, tool, work, abort)
    finally:
        rt.tool_limits.free(tool, slot)
    if isinstance(event, CallFinished) and event.outcome == Outcome.OK:
        rt.tool_limits.keep(tool, work.args, event.observation)
    return event


def _may_start(rt: Runtime, tool: Tool, work: CallWork) -> bool:
    """Makes the second commit of a call that must not be repeated; idempotent calls need none."""
    reach("call.claimed")
    if tool.idempotent:
        return True
    may, doubtful = retry_on_outage("start", lambda: start_call(rt.store, work.lease), rt.draining.is_set)
    reach("call.started")
    return may or (doubtful and started(rt.store, work.lease))


def _run(rt: Runtime, tool: Tool, work: CallWork, abort: Abort) -> CallEvent:
    lease = work.lease
    artifacts = StoredArtifacts(rt.store, rt.settings.data_dir, without_password(rt.settings.api_url), lease)
    context = ToolContext(
        run_id=lease.run_id,
        step=lease.step,
        call=lease.call,
        batch_id=work.batch_id,
        idempotency_key=f"{lease.run_id}.{lease.step}.{lease.call}",
        notes=StoredNotes(rt.store, lease.run_id, work.batch_id),
        artifacts=artifacts,
        cancelled=lambda: abort.reason is not None,
        deadline=time.monotonic() + tool.timeout_s,
    )
    most = rt.configuration(work.config_hash).max_observation_chars
    fitted = replace(tool, max_observation_chars=min(tool.max_observation_chars, most))
    try:
        return CallFinished(fitted.call(work.args, context).observation)
    except ToolFailure as failure:
        return _failed(work, failure, abort)
    except SoftTimeLimitExceeded:
        message = f"{tool.name} did not finish within {tool.timeout_s:g} s. Try a smaller request, or another way."
        return CallFinished(message, Outcome.TIMEOUT)
    except Exception as error:  # a bug in stepmill's tool wrapper must not leave the call without a next event
        log.exception("The call of %s failed inside stepmill", tool.name)
        return CallRetried(f"{tool.name} failed: {type(error).__name__}.", 1.0)


def _failed(work: CallWork, failure: ToolFailure, abort: Abort) -> CallEvent:
    if abort.reason == StopReason.HAND_BACK:
        return GivenBack(Outcome.HANDED_BACK, reason="its worker was stopped")
    if failure.retryable:
        return CallRetried(failure.message, delay_s(work.view.failures + 1, random))
    return CallFinished(failure.message, Outcome.ERROR)


def _spent(event: CallEvent) -> Spent:
    match event:
        case CallFinished(observation, outcome):
            return Spent(outcome, error=None if outcome == Outcome.OK else observation[:500])
        case CallRetried(message):
            return Spent(Outcome.ERROR, error=message[:500], wasted=True)
        case GivenBack(outcome):
            return Spent(outcome, wasted=outcome != Outcome.DEFERRED)


def _apply(rt: Runtime, tool: Tool, work: CallWork, event: CallEvent, spent: Spent) -> Applied:
    def decide(hot: Hot, view: CallView) -> CallChange:
        return decide_call(hot, replace(view, idempotent=tool.idempotent, max_attempts=tool.max_attempts), event)

    seen = (work.seen, work.view) if work.seen is not None else None
    return apply(rt, work.lease, lambda: apply_call(rt.store, work.lease, decide, spent, seen), spent)
