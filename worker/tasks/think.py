"""One model call: claims the step, calls the model, reads the reply, decides, applies, and sends what follows."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from sqlalchemy.exc import SQLAlchemyError

from worker.agents import endpoint_of
from worker.core.config import RunConfig
from worker.core.errors import (
    CallEnded,
    StopReason,
    UserError,
)
from worker.core.machine import decide_think, may_raise, output_tokens, used_up
from worker.core.moves import GivenBack, ModelFailed, OverBudget, ThinkEvent, UsedUp
from worker.core.spending import Spent
from worker.core.states import Outcome
from worker.faults import reach
from worker.limits.limiter import RetryAt
from worker.llm.classify import FREE
from worker.llm.client import ModelReply
from worker.llm.endpoint import EndpointSettings
from worker.llm.watchdog import Abort
from worker.store.hot.interface import StepRecord, ThinkWork
from worker.store.hot.writes import apply_think, claim_think, reserve
from worker.store.queries.history import history
from worker.tasks import money, small_probe
from worker.tasks.attempt import Announced, AttemptFailed, Discarded, apply, claim, follow_up
from worker.tasks.conversation import prompt, read_reply
from worker.tasks.database_retry import retry_on_outage
from worker.tasks.model_errors import NO_CALL, ThinkResult, closed, ended_without_reply
from worker.tasks.runtime import Runtime

log = logging.getLogger(__name__)

Reader = Callable[[], tuple[ThinkEvent, StepRecord]]
"""Reads a reply; returns what it means and its step for the history."""

MARGIN_S = 20.0
"""Seconds by which a lease outlasts the model call's own time limit."""


def think(rt: Runtime, run_id: str, step: int, attempt: int) -> str:
    """Does one model call. Raises `Discarded` if this worker may not do it, and `AttemptFailed` if the call failed."""
    with rt.turnstile:
        return _carry_out(rt, run_id, step, attempt)


def _carry_out(rt: Runtime, run_id: str, step: int, attempt: int) -> str:
    work = claim(rt, Announced(run_id, step, 0, attempt), MARGIN_S, claim_think)
    config = rt.configuration(work.config_hash)
    with rt.in_flight.attempt(work.lease.token, run_id, config.call_time_limit_s + MARGIN_S) as abort:
        if rt.draining.is_set():
            abort.abort(StopReason.HAND_BACK)
        thought = _think(rt, work, config, abort)
    decision = decide_think(work.hot, thought.event, config)
    write = partial(apply_think, rt.store, work.lease, decision, thought.spent, thought.record)
    applied = apply(rt, work.lease, write, thought.spent)
    reach("think.applied")
    follow_up(rt, run_id, applied)
    if thought.spent.error:
        raise AttemptFailed(f"{run_id} step {step}: {thought.spent.error}")
    return thought.record.kind if thought.record else thought.spent.outcome


def _think(rt: Runtime, work: ThinkWork, config: RunConfig, abort: Abort) -> ThinkResult:
    try:
        endpoint = _endpoint(rt, work, config)
        pause = rt.pauses.closed(endpoint.endpoint_id, work.lease.run_id)
        if pause is not None:
            return closed(endpoint, pause)
        return _ask(rt, work, config, endpoint, abort)
    except Discarded:
        raise
    except UserError as error:
        return ThinkResult(
            ModelFailed(error.message, 30.0, error.message, counts=False), Spent(Outcome.ERROR, error.message)
        )
    except SQLAlchemyError as error:
        reason = f"the database is away ({type(error).__name__})"
        return ThinkResult(ModelFailed(reason, 1.0, reason, counts=False), Spent(Outcome.DEFERRED))
    except Exception as error:  # a bug in stepmill must not leave the run without a next event
        log.exception("The model call of %s failed inside stepmill", work.lease.run_id)
        message = f"stepmill failed: {type(error).__name__}"
        return ThinkResult(ModelFailed(message, 5.0, message), Spent(Outcome.ERROR, message))


def _endpoint(rt: Runtime, work: ThinkWork, config: RunConfig) -> EndpointSettings:
    endpoint = endpoint_of(config, rt.settings.practice_url)
    if not work.hot.output_raises:
        return endpoint
    return replace(endpoint, max_output_tokens=output_tokens(work.hot, config))


def _ask(rt: Runtime, work: ThinkWork, config: RunConfig, endpoint: EndpointSettings, abort: Abort) -> ThinkResult:
    past, _ = retry_on_outage("history", lambda: history(rt.store, work.lease.run_id, work.lease.step))
    tools = rt.registry.known(config.tools)
    asked = prompt(config, rt.system_prompt(work.config_hash), tools, past, work.hot, endpoint.endpoint_id)
    request = endpoint.request(asked.messages, request_id=work.lease.token, stop=asked.stop, extra=asked.extra)
    bound_usd = money.bound_usd(rt.prices, request, work.hot)
    if bound_usd is not None and not money.fits(work.hot, bound_usd):
        return ThinkResult(OverBudget(bound_usd), NO_CALL)
    known, probe = rt.learning.of(endpoint.endpoint_id), small_probe.asks_small(rt, work, endpoint)
    slot = rt.throttle.ask(endpoint, f"{work.lease.run_id}.{work.lease.step}", asked.size_bytes)
    if isinstance(slot, RetryAt):
        wait_s = max(0.05, slot.due_s - time.monotonic())
        return ThinkResult(GivenBack(Outcome.DEFERRED, wait_s, "the rate limit of its model"), NO_CALL)
    if bound_usd is not None and not _reserved(rt, work, bound_usd):
        rt.throttle.settle(endpoint, slot, FREE)
        raise Discarded
    reach("think.claimed")
    try:
        with rt.turnstile.aside():
            sent = small_probe.small(request) if probe else request
            reply = rt.clients.client(endpoint).complete(sent, endpoint.call_time_limit_s, abort, known)
    except CallEnded as ended:
        rt.throttle.settle(endpoint, slot, ended.usage)
        refused = small_probe.refused(rt, endpoint, ended) if probe else None
        return refused or ended_without_reply(rt, work, endpoint, ended, config)
    reach("think.replied")
    rt.throttle.settle(endpoint, slot, reply.usage)
    rt.pauses.answered(endpoint)
    rt.learning.note(endpoint.endpoint_id, reply.learned)
    if probe:
        return small_probe.answered(rt, endpoint, reply)
    read = partial(read_reply, reply, config, tools, past, endpoint.endpoint_id)
    return _heard(rt, work, endpoint, reply, read, config)


def _heard(
    rt: Runtime, work: ThinkWork, endpoint: EndpointSettings, reply: ModelReply, read: Reader, config: RunConfig
) -> ThinkResult:
    """Returns what follows from a reply."""
    spent = _spent(rt, endpoint, reply)
    try:
        event, record = read()
    except Exception as error:  # a bug in stepmill must not hide what the reply cost
        log.exception("The reply to %s could not be read", work.lease.run_id)
        message = f"stepmill failed: {type(error).__name__}"
        return ThinkResult(ModelFailed(message, 5.0, message), replace(spent, outcome=Outcome.ERROR, error=message))
    if isinstance(event, UsedUp) and may_raise(work.hot, config):
        # The step is repeated, so this reply does not become a step of the history.
        return ThinkResult(event, replace(spent, outcome=Outcome.ERROR, error=used_up(work.hot, config), wasted=True))
    return ThinkResult(event, spent, record)


def _reserved(rt: Runtime, work: ThinkWork, bound_usd: float) -> bool:
    """Records the call's bound; returns False if the attempt has been taken over, so the call must not be sent."""
    return retry_on_outage("reserve", lambda: reserve(rt.store, work.lease, bound_usd), rt.draining.is_set)[0]


def _spent(rt: Runtime, endpoint: EndpointSettings, reply: ModelReply) -> Spent:
    cost = rt.prices.cost_usd(endpoint.model, reply.usage)
    return Spent(Outcome.OK, usage=reply.usage, cost_usd=cost, billed=True)
