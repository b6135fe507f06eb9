"""A probe that tells whether a paused endpoint answers at all, where the request of the run that probes is suspect.

A run whose own request failed again and again would find an endpoint out of order that answers everybody else. It asks
for a single word first, in a request of the same form: what is wrong with the endpoint, or with how it is asked, shows
there too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import takewhile

from worker.core.errors import CallEnded, RunError
from worker.core.moves import GivenBack
from worker.core.remedies import PauseKind
from worker.core.spending import Spent
from worker.core.states import Outcome
from worker.llm.client import ModelReply
from worker.llm.endpoint import EndpointSettings, ModelRequest
from worker.store.control.endpoints import has_failed
from worker.store.hot.interface import ThinkWork
from worker.tasks.model_errors import ThinkResult, out_of_order, spent_in_vain
from worker.tasks.runtime import Runtime

QUESTION = "Answer with the one word: ready"
_MAY_BE_OF_ONE = frozenset({PauseKind.FAILING, PauseKind.UNKNOWN, PauseKind.ACCESS, PauseKind.MODEL})
"""Pauses that one request may have caused, while money and keys are everybody's."""


def asks_small(rt: Runtime, work: ThinkWork, endpoint: EndpointSettings) -> bool:
    """Whether this model call is a probe by a run whose own request has failed there."""
    pause = rt.pauses.probed_by(endpoint.endpoint_id, work.lease.run_id)
    return pause is not None and pause.kind in _MAY_BE_OF_ONE and has_failed(rt.store, work.lease)


def small(request: ModelRequest) -> ModelRequest:
    """The request with its instructions, tools and options, and with nothing of its conversation."""
    told = takewhile(lambda message: message.get("role") in ("system", "developer"), request.messages)
    asked: Mapping[str, str] = {"role": "user", "content": QUESTION}
    return replace(request, messages=[*told, dict(asked)])


def answered(rt: Runtime, endpoint: EndpointSettings, reply: ModelReply) -> ThinkResult:
    """The endpoint answers: the run's own request comes next, and its failures count against it."""
    cost = rt.prices.cost_usd(endpoint.model, reply.usage)
    spent = Spent(Outcome.OK, usage=reply.usage, cost_usd=cost, wasted=True, billed=True)
    return ThinkResult(
        GivenBack(Outcome.DEFERRED, reason="its endpoint answers others; its own request is next"), spent
    )


def refused(rt: Runtime, endpoint: EndpointSettings, ended: CallEnded) -> ThinkResult | None:
    """What follows where even so small a request is refused for what it is; None: it failed as any call may."""
    if not isinstance(ended, RunError):
        return None
    return ThinkResult(out_of_order(rt, endpoint, ended), spent_in_vain(rt, endpoint, ended))
