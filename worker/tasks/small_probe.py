"""A probe of a paused endpoint with a small request, used if the probing run's own request may be the cause.

A run whose own request always fails would keep an endpoint paused that answers all others. It first asks for a single
word in a request of the same form: a fault of the endpoint, or of the way it is called, shows there too.
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
"""Kinds of pauses that a single request may cause; a missing key or quota would affect every request."""


def asks_small(rt: Runtime, work: ThinkWork, endpoint: EndpointSettings) -> bool:
    """Returns whether this model call is a probe by a run whose own request has failed at this endpoint."""
    pause = rt.pauses.probed_by(endpoint.endpoint_id, work.lease.run_id)
    return pause is not None and pause.kind in _MAY_BE_OF_ONE and has_failed(rt.store, work.lease)


def small(request: ModelRequest) -> ModelRequest:
    """Returns the request with its instructions, tools and options, but without its conversation."""
    told = takewhile(lambda message: message.get("role") in ("system", "developer"), request.messages)
    asked: Mapping[str, str] = {"role": "user", "content": QUESTION}
    return replace(request, messages=[*told, dict(asked)])


def answered(rt: Runtime, endpoint: EndpointSettings, reply: ModelReply) -> ThinkResult:
    """Returns the result if the endpoint answered: the run's own request is next, and its failures count again."""
    cost = rt.prices.cost_usd(endpoint.model, reply.usage)
    spent = Spent(Outcome.OK, usage=reply.usage, cost_usd=cost, wasted=True, billed=True)
    return ThinkResult(
        GivenBack(Outcome.DEFERRED, reason="its endpoint answers others; its own request is next"), spent
    )


def refused(rt: Runtime, endpoint: EndpointSettings, ended: CallEnded) -> ThinkResult | None:
    """Returns what follows if even the small request is rejected; None: it failed for another reason."""
    if not isinstance(ended, RunError):
        return None
    return ThinkResult(out_of_order(rt, endpoint, ended), spent_in_vain(rt, endpoint, ended))
