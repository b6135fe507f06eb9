"""Model endpoints can be listed, paused and resumed; a run that only a person can unblock says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from api.app import create_app
from tests.api.conftest import Api, make_context
from worker.core.records import JsonObject
from worker.core.states import Parked
from worker.store.control.endpoints import pause
from worker.store.queries.endpoints import endpoint_states, needs_operator
from worker.store.session import Store


@pytest.fixture
def asked(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Api:
    """An application whose agents ask a model of their owner's."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://anna:hush@model.test/v1")
    context, sender, admitter = make_context(store, tmp_path, model="gpt-x")
    return Api(TestClient(create_app(context), base_url="http://127.0.0.1"), context, sender, admitter)


def one(api: Api) -> JsonObject:
    (item,) = api.client.get("/api/models").json()["items"]
    return dict(item)


def test_the_agents_endpoint_is_listed_open_and_without_its_password(asked: Api) -> None:
    item = one(asked)
    assert (item["model"], item["state"], item["reason"]) == ("gpt-x", "open", None)
    assert "hush" not in json.dumps(item)


def test_an_endpoint_is_paused_and_resumed_once(asked: Api) -> None:
    path = f"/api/models/{one(asked)['endpoint_id']}"
    paused = asked.client.post(f"{path}/pause", json={"reason": "the bill is high"}).json()
    assert (paused["changed"], paused["state"], paused["reason"]) == (True, "paused", "the bill is high")
    assert paused["retry_in_s"] is None, "a pause by hand ends by hand"
    assert asked.client.post(f"{path}/pause").json()["changed"] is False
    resumed = asked.client.post(f"{path}/resume").json()
    assert (resumed["changed"], resumed["state"]) == (True, "open")
    assert asked.client.post(f"{path}/resume").json()["changed"] is False


def test_an_unknown_endpoint_is_not_found(asked: Api) -> None:
    assert asked.client.post("/api/models/nowhere/pause").status_code == 404


def test_only_a_pause_without_an_end_needs_a_person(store: Store) -> None:
    pause(store, "busy", "http://m/v1", "gpt-x", "429", for_s=20.0)
    pause(store, "wrong", "http://m/v1", "gpt-y", "401", for_s=None)
    assert not needs_operator(store, Parked.MODEL, "busy")
    assert needs_operator(store, Parked.MODEL, "wrong")
    assert not needs_operator(store, Parked.READY, None)
    assert not needs_operator(store, None, None)
    assert {name: one.needs_operator for name, one in endpoint_states(store).items()} == {"busy": False, "wrong": True}
    assert endpoint_states(store)["busy"].retry_in_s == pytest.approx(20.0, abs=5.0)
