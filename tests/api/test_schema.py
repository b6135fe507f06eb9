"""The OpenAPI document says what the API does, and `/docs` shows it without any outside address."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from starlette.testclient import TestClient

from api.app import create_app
from api.bodies import GivenQuestion
from api.options import BatchOptions, RunOptions
from api.shapes import Artifacts, Asked, ErrorBody, HeldCalls, Page, Run, RunChanged, RunDetails
from api.shapes_batches import Batch, BatchChanged, BatchDetails, BatchRetried, Submitted  # fmt: skip
from api.shapes_inventory import (
    AgentShown,
    Alive,
    Day,
    Invariants,
    ModelChanged,
    ModelEndpoint,
    QueueShown,
    Ready,
    Tools,
    WorkerShown,
)  # fmt: skip
from tests.api.conftest import Api, make_context
from tests.api.words import act, admit_work_messages, fail, observe
from tests.store.conftest import World
from worker.questions.record import FIELDS
from worker.store.session import Store

ON_ONE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def fits(model: type[BaseModel], answer: Any) -> bool:
    """The answer has the fields of the model, no other, and values of their types."""
    assert model.model_validate(answer).model_dump(mode="json", exclude_unset=True) == answer
    return True


def calls(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, verbs in document["paths"].items():
        for verb, call in verbs.items():
            yield path, verb, call


@ON_ONE
def test_every_call_has_a_lasting_name_a_tag_and_a_typed_answer(api: Api) -> None:
    document = api.client.get("/openapi.json").json()
    names = [call["operationId"] for _, _, call in calls(document)]
    assert len(set(names)) == len(names) and all(re.fullmatch(r"[a-z_]+", name) for name in names)
    for path, _, call in calls(document):
        assert call["tags"], path
        for status, response in call["responses"].items():
            if status == "204":
                continue
            for kind, content in response["content"].items():
                schema = content["schema"]
                plain = "object" if kind == "text/event-stream" else "string"
                assert set(schema) == {"$ref"} or schema["type"] == plain, (path, status, schema)


@ON_ONE
def test_every_refusal_is_told_and_has_the_same_body(api: Api) -> None:
    document = api.client.get("/openapi.json").json()
    for path, verb, call in calls(document):
        assert {"400", "401", "403", "408", "422", "431", "500", "503"} <= set(call["responses"]), path
        assert "{" not in path or "404" in call["responses"], path
        assert verb == "get" or {"413", "415"} <= set(call["responses"]), path
        for status, response in call["responses"].items():
            if status >= "400" and (path, status) != ("/readyz", "503"):
                assert response["content"]["application/json"]["schema"]["$ref"].endswith("/ErrorBody")


@ON_ONE
def test_the_two_calls_that_read_bodies_themselves_tell_them_with_examples_that_are_taken(api: Api) -> None:
    document = api.client.get("/openapi.json").json()
    for path in ("/api/runs", "/api/batches"):
        content = document["paths"][path]["post"]["requestBody"]["content"]
        for kind, said in content.items():
            if kind == "application/json":
                sent = api.client.post(path, json=said["example"])
            else:
                sent = api.client.post(path, content=said["example"], headers={"content-type": kind})
            assert sent.status_code == 201, (path, kind, sent.text)
    assert {"text/csv", "application/x-ndjson", "text/plain"} < set(content)
    told = {one["name"] for one in document["paths"]["/api/batches"]["post"]["parameters"]}
    assert told == set(BatchOptions.model_fields)
    assert set(GivenQuestion.model_fields) == set(FIELDS)
    run = document["components"]["schemas"]["GivenRun"]["properties"]
    assert set(run) == set(RunOptions.model_fields) | set(FIELDS)


@ON_ONE
def test_answers_are_what_the_schema_says(api: Api, moved: World) -> None:
    get, post = api.client.get, api.client.post
    questions = [{"question": "one", "expected": "1", "metadata": {"n": 1}}, "two", "three"]
    submitted = post("/api/batches", json={"runs": questions, "name": "several"}).json()
    assert fits(Submitted, submitted)
    batch_id = submitted["batch_id"]
    for n, work_message in enumerate(admit_work_messages(moved).values()):
        if n == 0:
            fail(moved, work_message)
        elif n == 1:
            observe(moved, act(moved, work_message)[0])
    assert fits(Asked, post("/api/runs", json={"question": "four"}).json())
    runs = get(f"/api/runs?batch={batch_id}&limit=2").json()
    assert fits(Page[Run], runs)
    for run in get(f"/api/runs?batch={batch_id}").json()["items"]:
        assert fits(RunDetails, get(f"/api/runs/{run['run_id']}").json())
        assert fits(Artifacts, get(f"/api/runs/{run['run_id']}/artifacts").json())
        assert fits(HeldCalls, get(f"/api/runs/{run['run_id']}/held").json())
    assert fits(BatchRetried, post(f"/api/batches/{batch_id}/retry").json())
    for verb in ("pause", "resume", "cancel"):
        assert fits(RunChanged, post(f"/api/runs/{run['run_id']}/{verb}").json())
        assert fits(BatchChanged, post(f"/api/batches/{batch_id}/{verb}").json())
    assert fits(Page[Batch], get("/api/batches").json())
    assert fits(BatchDetails, get(f"/api/batches/{batch_id}").json())
    assert fits(ErrorBody, get("/api/runs/none").json())


@ON_ONE
def test_what_is_told_of_the_surroundings_is_what_the_schema_says(api: Api, moved: World) -> None:
    get = api.client.get
    shapes: dict[str, type[BaseModel]] = {
        "agents": Page[AgentShown], "tools": Tools, "workers?all=true": Page[WorkerShown], "queues": Page[QueueShown],
        "invariants": Invariants, "usage": Page[Day], "models": Page[ModelEndpoint],
    }  # fmt: skip
    for path, shape in shapes.items():
        answer = get(f"/api/{path}").json()
        assert fits(shape, answer)
    for endpoint in get("/api/models").json()["items"]:
        for verb in ("pause", "resume", "forget"):
            assert fits(ModelChanged, api.client.post(f"/api/models/{endpoint['endpoint_id']}/{verb}").json())
    assert fits(Alive, get("/healthz").json()) and fits(Ready, get("/readyz").json())


@ON_ONE
def test_the_page_of_the_schema_needs_no_outside_address_and_is_open_where_a_key_is_set(
    store: Store, tmp_path: Path
) -> None:
    context, _, _ = make_context(store, tmp_path, admin_key="s3cret-key")
    with TestClient(create_app(context), base_url="http://stepmill.example") as client:
        page = client.get("/docs")
        assert page.status_code == 200 and "//" not in page.text
        assert "default-src 'none'" in page.headers["content-security-policy"]
        named = re.findall(r'(?:src|href)="([^"]+)"', page.text)
        assert len(named) == 3
        for name in named:
            assert client.get(f"/{name}").status_code == 200, name
        assert client.get("/docs/../app.py").status_code == 401
        assert client.get("/docs/nothing.js").status_code == 404
        document = client.get("/openapi.json").json()
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    assert document["paths"]["/api/runs"]["get"]["security"] == [{"key": []}]
    assert document["paths"]["/healthz"]["get"]["security"] == []
