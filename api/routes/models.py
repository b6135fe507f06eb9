"""Model endpoints: which are paused, why and what to do, and what each refuses; pause, resume, forget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Annotated

from fastapi import APIRouter
from pydantic import StringConstraints

from api.context import Context, Here
from api.problems import NotFound
from api.schema import WITH_BODY, answers
from api.shapes import Page
from api.shapes_inventory import ModelChanged, ModelEndpoint
from worker.agents import endpoint_of
from worker.core.errors import UserError
from worker.core.given import Given
from worker.core.records import JsonObject
from worker.llm.adaptations import described
from worker.llm.address import without_password
from worker.llm.endpoint import EndpointSettings
from worker.store.control.endpoints import pause, resume
from worker.store.control.learned import Learned, all_learned, forget
from worker.store.queries.endpoints import EndpointState, endpoint_states

router = APIRouter(prefix="/api/models", tags=["models"])

Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class Why(Given):
    """The reason that waiting runs show."""

    reason: Reason = "it was paused by hand"


@router.get("", **answers("list_models", Page[ModelEndpoint]))
def models(here: Here) -> JsonObject:
    """Lists the endpoints that the agents use, and every other stored one."""
    learned = all_learned(here.store)
    return {"items": [_view(one, learned) for one in _known(here).values()], "next": None}


@router.post("/{endpoint_id}/pause", **answers("pause_model", ModelChanged, 404, *WITH_BODY))
def pause_model(endpoint_id: str, here: Here, why: Why | None = None) -> JsonObject:
    """Pauses an endpoint: it gets no calls until it is resumed."""
    one = _found(here, endpoint_id)
    changed = one.paused_by in (None, "stepmill") or one.reason is None
    if changed:
        pause(here.store, endpoint_id, one.base_url, one.model, (why or Why()).reason, for_s=None, by="hand")
    return _seen(here, endpoint_id) | {"changed": changed}


@router.post("/{endpoint_id}/resume", **answers("resume_model", ModelChanged, 404, *WITH_BODY))
def resume_model(endpoint_id: str, here: Here) -> JsonObject:
    """Resumes an endpoint; its waiting runs continue as slots become free."""
    _found(here, endpoint_id)
    changed = resume(here.store, endpoint_id)
    here.admitter.wake()
    return _seen(here, endpoint_id) | {"changed": changed}


@router.post("/{endpoint_id}/forget", **answers("forget_model", ModelChanged, 404, *WITH_BODY))
def forget_model(endpoint_id: str, here: Here) -> JsonObject:
    """Forgets what the endpoint refuses; `changed` is the number of entries."""
    _found(here, endpoint_id)
    changed = forget(here.store, endpoint_id)
    return _seen(here, endpoint_id) | {"changed": changed}


def _known(here: Context) -> dict[str, EndpointState]:
    used = {one.endpoint_id: _of_agent(one) for one in _of_agents(here)}
    return used | endpoint_states(here.store)


def _of_agents(here: Context) -> list[EndpointSettings]:
    found = []
    for name in sorted(here.agents.agents):
        try:
            found.append(endpoint_of(here.agents.configuration(name), here.settings.practice_url))
        except UserError:
            continue  # an agent that cannot run, or a practice model that is not running: `/api/agents` says why
    return found


def _of_agent(one: EndpointSettings) -> EndpointState:
    return EndpointState(one.endpoint_id, one.base_url, one.model)


def _found(here: Context, endpoint_id: str) -> EndpointState:
    known = _known(here)
    if endpoint_id not in known:
        raise NotFound(f"There is no model endpoint {endpoint_id!r}.", "List them with `stepmill models`.")
    return known[endpoint_id]


def _seen(here: Context, endpoint_id: str) -> JsonObject:
    return _view(_found(here, endpoint_id), all_learned(here.store))


def _view(one: EndpointState, learned: Mapping[str, Sequence[Learned]]) -> JsonObject:
    shown = replace(one, base_url=without_password(one.base_url))
    known = [_learned(what) for what in learned.get(one.endpoint_id, ())]
    return asdict(shown) | {"state": "open" if one.reason is None else "paused", "learned": known}


def _learned(one: Learned) -> JsonObject:
    what = one.adaptation
    told = {"feature": what.feature, "value": what.value, "words": described(what), "said": what.said}
    return told | {"forgotten_in_s": round(one.forgotten_in_s)}
