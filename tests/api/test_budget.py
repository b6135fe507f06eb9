"""A batch with a budget: prices must be known, the money is shown, and a higher budget lets the batch continue."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from api.app import create_app
from tests.api.conftest import Api, make_context
from tests.store.conftest import World
from worker.core.config import RunConfig
from worker.core.machine import decide_think
from worker.core.moves import OverBudget
from worker.core.spending import Spent
from worker.core.work_messages import WorkMessage
from worker.llm.prices import Price, PriceTable
from worker.store.hot.writes import apply_think, reserve
from worker.store.recovery.takeover import OpenAttempt, release
from worker.store.session import Store

PRICED = PriceTable({"practice": Price(prompt=1.0, cached=0.5, completion=100.0)})


@pytest.fixture
def api(store: Store, tmp_path: Path) -> Iterator[Api]:
    """As elsewhere, but the practice model has a price."""
    context, sender, admitter = make_context(store, tmp_path)
    object.__setattr__(context, "prices", PRICED)
    with TestClient(create_app(context), base_url="http://127.0.0.1") as client:
        yield Api(client, context, sender, admitter)


def submit(api: Api, budget: float, count: int = 3, **options: object) -> str:
    runs = [f"What is {n} + {n}?" for n in range(count)]
    answer = api.client.post("/api/batches", json={"runs": runs, "budget_usd": budget, **options})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["batch_id"])


def test_a_model_without_a_price_is_refused_with_what_to_do(api: Api) -> None:
    body = {"runs": ["What is 1 + 1?"], "budget_usd": 5, "model": "a-model-of-mine"}
    answer = api.client.post("/api/batches", json=body)
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert "price of the model 'a-model-of-mine' is not known" in error["message"]
    assert "STEPMILL_PRICES_FILE" in error["hint"]
    assert api.client.get("/api/batches").json()["items"] == []


def test_a_line_with_a_model_without_a_price_is_named(api: Api) -> None:
    body = {"runs": ["What is 1 + 1?", {"question": "And 2?", "model": "unknown"}], "budget_usd": 5}
    error = api.client.post("/api/batches", json=body).json()["error"]
    assert error["line"] == 2 and "price" in error["message"]


@pytest.mark.parametrize("budget", [0, -1, "much", 1e12])
def test_a_budget_that_is_no_amount_is_refused(api: Api, budget: object) -> None:
    assert api.client.post("/api/batches", json={"runs": ["Hm?"], "budget_usd": budget}).status_code == 422


def test_no_run_is_given_less_than_its_first_call_may_cost(api: Api, world: World) -> None:
    batch_id = submit(api, budget=2.0, count=50)
    first = world.batch(batch_id).first_call_usd
    assert first > 4096 * 100 / 1e6, "the output limit is part of it, and the prompt too"
    api.admitter.admit_now()
    given = [world.hot(work_message.run_id).allotment_usd for work_message in api.sender.work_messages]
    assert 0 < len(given) < 50 and sum(given) <= 2.0 and min(given) >= first


def test_a_budget_is_an_option_of_the_streamed_form_too(api: Api) -> None:
    answer = api.client.post("/api/batches?budget_usd=2.5", content=b"What is 1 + 1?\n")
    shown = api.client.get(f"/api/batches/{answer.json()['batch_id']}").json()
    assert shown["budget_usd"] == 2.5 and shown["options"]["budget_usd"] == 2.5


def test_what_is_not_known_is_shown_apart_from_what_is(api: Api, world: World) -> None:
    batch_id = submit(api, budget=9.0, count=1)
    api.admitter.admit_now()
    (work_message,) = api.sender.work_messages
    lease = world.think(work_message).lease
    reserve(world.store, lease, 0.7)
    release(world.store, OpenAttempt(lease), {}, "its worker died")
    batch, run = (
        api.client.get(f"/api/batches/{batch_id}").json(),
        api.client.get(f"/api/runs/{work_message.run_id}").json(),
    )
    for shown in (batch, run):
        assert (shown["cost_usd"], shown["reserved_usd"]) == (0.0, 0.7)
        assert shown["wasted"]["attempts"] == 1 and shown["wasted"]["seconds"] >= 0
    assert run["attempts_log"][0]["reserved_usd"] == 0.7
    record = api.client.get(f"/api/batches/{batch_id}/results").json()
    assert "reserved_usd" not in record and set(record["wasted"]) == {"tokens", "cost_usd"}, "the record is fixed"


def test_a_batch_paused_for_its_budget_goes_on_with_a_larger_one_only(api: Api, world: World) -> None:
    batch_id = submit(api, budget=0.6, count=2)
    api.admitter.admit_now()
    (work_message,) = api.sender.work_messages
    end_over_budget(world, work_message)
    api.admitter.admit_now()
    shown = api.client.get(f"/api/batches/{batch_id}").json()
    assert shown["paused_reason"] == "budget" and shown["errors"] == {"budget": 1}
    assert "--budget" in shown["waiting"][0]["reason"]
    refused = api.client.post(f"/api/batches/{batch_id}/resume")
    assert refused.status_code == 409 and "--budget" in refused.json()["error"]["hint"]
    lower = api.client.post(f"/api/batches/{batch_id}/resume?budget_usd=0.5")
    assert lower.status_code == 409 and "only be raised" in lower.json()["error"]["message"]
    resumed = api.client.post(f"/api/batches/{batch_id}/resume?budget_usd=5").json()
    assert (resumed["changed"], resumed["budget_usd"], resumed["paused_reason"]) == (True, 5.0, None)
    assert api.admitter.admit_now() == 1


def end_over_budget(world: World, work_message: WorkMessage) -> None:
    work = world.think(work_message)
    spent = Spent("ok", cost_usd=0.4, billed=True)
    assert apply_think(world.store, work.lease, decide_think(work.hot, OverBudget(1.0), RunConfig()), spent) is not None


def test_a_batch_without_a_budget_is_not_given_one_later(api: Api) -> None:
    answer = api.client.post("/api/batches", json={"runs": ["What is 1 + 1?"]})
    batch_id = answer.json()["batch_id"]
    assert api.client.post(f"/api/batches/{batch_id}/resume?budget_usd=5").status_code == 409
