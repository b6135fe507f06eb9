"""Decides by an error's culprit what follows a model call without a reply."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from worker.core.config import RunConfig
from worker.core.errors import (
    AccessDenied,
    CallEnded,
    ContextOverflow,
    OperatorError,
    RunError,
    Stopped,
    StopReason,
    TransientError,
)
from worker.core.moves import GivenBack, ModelFailed, Overflowed, Parking, Rejected, ThinkEvent
from worker.core.remedies import pause_kind, remedy
from worker.core.retry import (
    Verdict,
    code_of,
    delay_s,
    may_be_down,
    may_be_too_long,
    refusal_verdict,
    refusals_left,
    tries_left,
    verdict,
)
from worker.core.spending import Spent
from worker.core.states import Outcome, Parked
from worker.llm.endpoint import EndpointSettings
from worker.store.control.endpoints import PAUSES_OF_ONE, Pause, answered_small, pause, why_paused
from worker.store.hot.interface import StepRecord, ThinkWork
from worker.tasks.runtime import Runtime

NO_CALL = Spent(Outcome.DEFERRED)


@dataclass(frozen=True, slots=True)
class ThinkResult:
    """The result of a model call: the event, what it used, and its step for the history, if any."""

    event: ThinkEvent
    spent: Spent
    record: StepRecord | None = None


def closed(endpoint: EndpointSettings, why: Pause) -> ThinkResult:
    """Returns the result of a call that was not made because its endpoint is paused."""
    return ThinkResult(
        GivenBack(Outcome.DEFERRED, reason=why.sentence, park=Parking(Parked.MODEL, endpoint.endpoint_id)), NO_CALL
    )


def ended_without_reply(
    rt: Runtime, work: ThinkWork, endpoint: EndpointSettings, ended: CallEnded, config: RunConfig
) -> ThinkResult:
    """Returns what follows; pauses the endpoint for the whole fleet if the error calls for it."""
    spent = spent_in_vain(rt, endpoint, ended)
    if isinstance(ended, RunError) and ended.status is not None:
        rt.pauses.answered(endpoint)  # it read the request and refused it, so it works
    match ended:
        case Stopped(reason=StopReason.HAND_BACK):
            given = replace(spent, outcome=Outcome.HANDED_BACK, error=None)
            return ThinkResult(GivenBack(Outcome.HANDED_BACK, reason="its worker was stopped"), given)
        case Stopped():
            return ThinkResult(GivenBack(Outcome.STOPPED), replace(spent, outcome=Outcome.STOPPED, error=None))
        case OperatorError():
            return ThinkResult(_operators(rt, work, endpoint, ended, config), spent)
        case TransientError():
            return ThinkResult(_transient(rt, work, endpoint, ended, config), spent)
        case ContextOverflow():
            return ThinkResult(Overflowed(ended.message), spent)
        case RunError():
            return ThinkResult(Rejected(ended.code, ended.message), spent)
    return ThinkResult(ModelFailed(ended.message, 5.0, ended.message), spent)


def spent_in_vain(rt: Runtime, endpoint: EndpointSettings, ended: CallEnded) -> Spent:
    """Returns what a call without a reply cost."""
    cost = rt.prices.cost_usd(endpoint.model, ended.usage)
    return Spent(Outcome.ERROR, ended.message, ended.usage, cost, wasted=True, billed=ended.usage is None)


def _operators(
    rt: Runtime, work: ThinkWork, endpoint: EndpointSettings, error: OperatorError, config: RunConfig
) -> ThinkEvent:
    """Pauses the endpoint, unless it refuses only this request and answers others."""
    if rt.pauses.probed_by(endpoint.endpoint_id, work.lease.run_id):
        return out_of_order(rt, endpoint, error, error.retry_after_s)
    if isinstance(error, AccessDenied) and rt.pauses.refuses_again(endpoint, work.lease):
        return _given_up(error, PAUSES_OF_ONE + 1)
    if not error.unsure:
        return out_of_order(rt, endpoint, error, error.retry_after_s)
    failures, most = work.hot.failures + 1, config.max_model_failures
    left = refusals_left(failures, most)
    answers = rt.pauses.answered_lately(endpoint) if left else _answers_others(rt, work, endpoint)
    match refusal_verdict(failures, most, answers):
        case Verdict.GIVE_UP:
            return _given_up(error, failures)
        case Verdict.AGAIN:
            return ModelFailed(error.message, delay_s(failures, random), error.message)
        case Verdict.PAUSE:
            return out_of_order(rt, endpoint, error, error.retry_after_s)


def _given_up(error: CallEnded, failures: int) -> Rejected:
    message = f"The model call failed {failures} times; the last time: {error.message}"
    return Rejected(code_of(error), message)


def _answers_others(rt: Runtime, work: ThinkWork, endpoint: EndpointSettings) -> bool:
    return rt.pauses.answers_others(endpoint, work.lease, work.hot.failures)


def out_of_order(rt: Runtime, endpoint: EndpointSettings, ended: CallEnded, for_s: float | None = None) -> ThinkEvent:
    """Pauses the endpoint until an operator acts or a probe succeeds; its runs wait and none fails."""
    _pause(rt, endpoint, ended, for_s)
    what_to_do = remedy(pause_kind(ended, for_s), endpoint.model, endpoint.base_url, endpoint.api_key_env)
    reason = why_paused(ended.message, what_to_do)
    return GivenBack(Outcome.DEFERRED, reason=reason, park=Parking(Parked.MODEL, endpoint.endpoint_id))


def _pause(rt: Runtime, endpoint: EndpointSettings, ended: CallEnded, for_s: float | None) -> None:
    pause(
        rt.store,
        endpoint.endpoint_id,
        endpoint.base_url,
        endpoint.model,
        ended.message,
        for_s=for_s,
        kind=pause_kind(ended, for_s),
        api_key_env=endpoint.api_key_env,
    )
    rt.pauses.forget()


def _transient(
    rt: Runtime, work: ThinkWork, endpoint: EndpointSettings, error: TransientError, config: RunConfig
) -> ThinkEvent:
    failures, most = work.hot.failures + 1, config.max_model_failures
    wait_s = delay_s(failures, random, retry_after_s=error.retry_after_s)
    timed = error.pauses_endpoint and error.retry_after_s is not None
    if not timed and rt.pauses.probed_by(endpoint.endpoint_id, work.lease.run_id):
        return out_of_order(rt, endpoint, error)  # one failed probe is enough to know that it is still down
    if timed:
        _pause(rt, endpoint, error, wait_s)
    elif error.pauses_endpoint and rt.pauses.turns_away(endpoint, work.lease):
        return out_of_order(rt, endpoint, error)
    elif error.pauses_endpoint:
        rt.throttle.refused(endpoint)
    suspect = may_be_down(error, failures)
    last = not tries_left(error, failures, most) or (suspect and answered_small(rt.store, work.lease))
    if last and may_be_too_long(error, work.hot.step, work.hot.folds):
        return Overflowed(error.message)
    answers_others = (last or suspect) and _answers_others(rt, work, endpoint)
    match verdict(error, failures, failures if last else most, answers_others):
        case Verdict.PAUSE:
            return out_of_order(rt, endpoint, error)
        case Verdict.GIVE_UP:
            return _given_up(error, failures)
        case Verdict.AGAIN:
            counts = not (last or error.pauses_endpoint)
            return ModelFailed(error.message, wait_s, error.message, counts=counts)
