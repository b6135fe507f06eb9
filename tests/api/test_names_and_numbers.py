"""Unknown names are refused, and so are numbers that arithmetic cannot use."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.api.conftest import Api
from tests.api.test_submit import CSV, JSONL, ON_ONE, PLAIN, lines, nothing_is_left, stored

JSON = {"content-type": "application/json"}
pytestmark = ON_ONE

UNKNOWN: list[tuple[str, str, Any, str, str]] = [
    ("POST", "/api/runs", {"question": "a", "budget_usd": 1}, "budget_usd", "POST /api/batches"),
    ("POST", "/api/runs", {"question": "a", "temperature": 0.1}, "temperature", "STEPMILL_AGENTS_FILE"),
    ("POST", "/api/runs", {"question": "a", "max_step": 3}, "max_step", "'max_steps'"),
    ("POST", "/api/runs", {"question": "a", "Model": "x"}, "Model", "'model'"),
    ("POST", "/api/runs", {"question": "a", "topic": "x"}, "topic", "metadata"),
    ("POST", "/api/runs?klas=batch", {"question": "a"}, "klas", "there is none"),
    ("POST", "/api/batches", {"runs": ["a"], "max_failure": 3}, "max_failure", "'max_failures'"),
    ("POST", "/api/batches", {"runs": [{"question": "a", "dialekt": "json"}]}, "dialekt", "'dialect'"),
    ("POST", "/api/batches?name=x", {"runs": ["a"]}, "name", "body"),
    ("GET", "/api/batches?stat=open", None, "stat", "'state'"),
    ("GET", "/api/runs?batch_id=x", None, "batch_id", "'batch'"),
    ("GET", "/api/runs?batch=x&batch=y", None, "batch", "twice"),
    ("GET", "/api/tools?limit=3", None, "limit", "there is none"),
    ("GET", "/readyz?verbose=1", None, "verbose", "there is none"),
]


@pytest.mark.parametrize(("method", "path", "body", "name", "says"), UNKNOWN)
def test_an_unknown_name_is_refused_with_the_nearest_right_one(
    api: Api, method: str, path: str, body: Any, name: str, says: str
) -> None:
    answer = api.client.request(method, path, json=body)
    assert answer.status_code == 422, answer.text
    error = answer.json()["error"]
    assert repr(name) in error["message"] and says in error["message"] + error["hint"], error
    assert nothing_is_left(api)


@pytest.mark.parametrize("what", ["cancel", "pause", "resume", "retry"])
def test_what_takes_no_body_does_not_pass_over_one(api: Api, what: str) -> None:
    batch = api.client.post("/api/batches?budget_usd=", content=b"a\n", headers=PLAIN)
    assert batch.status_code == 422, "an empty number is none"
    batch_id = api.client.post("/api/batches", content=b"a\n", headers=PLAIN).json()["batch_id"]
    run_id = api.client.get("/api/runs").json()["items"][0]["run_id"]
    for path in (f"/api/batches/{batch_id}/{what}", f"/api/runs/{run_id}/{what}"):
        answer = api.client.post(path, json={"budget": 5})
        assert answer.status_code == 422 and "'budget'" in answer.json()["error"]["message"], answer.text
        assert api.client.post(path, content=b"{", headers=JSON).status_code == 422
        assert api.client.post(f"{path}?reson=x").status_code == 422
    assert api.client.get(f"/api/batches/{batch_id}").json()["state"] == "open"
    assert api.client.post(f"/api/batches/{batch_id}/pause", json={}).status_code == 200


def test_resume_says_where_its_budget_stands(api: Api) -> None:
    batch_id = api.client.post("/api/batches", content=b"a\n", headers=PLAIN).json()["batch_id"]
    answer = api.client.post(f"/api/batches/{batch_id}/resume", json={"budget_usd": 5}).json()["error"]
    assert "query" in answer["message"] and "?budget_usd=" in answer["hint"]
    answer = api.client.post(f"/api/batches/{batch_id}/resume", json={"budget": 5}).json()["error"]
    assert "'budget_usd'" in answer["message"]


NUMBERS: list[tuple[str, Any]] = [
    *[("weight", bad) for bad in ("1e-310", "0", "-1", "nan", "inf", "1e400", "1001", "²", "9" * 400, "0.0001")],
    *[("budget_usd", bad) for bad in ("0", "-1", "nan", "inf", "1e400", "1e10", "1e-400", "²")],
    *[("max_steps", bad) for bad in ("0", "-1", "1001", "nan", "1e400", "²", "٣", "9" * 30, "1.5")],
    *[("limit", bad) for bad in ("0", "-1", "²", "9" * 30, "1e3")],
    *[("max_failures", bad) for bad in ("-1", "²", "٣", "9" * 30, "nan%", "inf%", "101%", "1e400%", "1_0", "true")],
    *[("delimiter", bad) for bad in ("\n", '"', "\r", "ab", "\0")],
]


@pytest.mark.parametrize(("name", "value"), NUMBERS)
def test_a_number_out_of_its_bounds_is_refused_in_the_query(api: Api, name: str, value: str) -> None:
    answer = api.client.post("/api/batches", params={name: value}, content=b"question\na\n", headers=CSV)
    assert answer.status_code == 422, answer.text
    assert nothing_is_left(api)


@pytest.mark.parametrize("name", ["weight", "budget_usd", "max_steps", "limit", "max_failures"])
@pytest.mark.parametrize(
    "value", ["true", "1e400", "-1", "NaN", "Infinity", "[1]", '"²"', '"x\\u0000"', "9" * 30, "[" * 300]
)
def test_a_number_out_of_its_bounds_is_refused_in_a_body(api: Api, name: str, value: str) -> None:
    body = f'{{"runs": ["a"], "{name}": {value}{"]" * 300 if len(value) == 300 else ""}}}'
    answer = api.client.post("/api/batches", content=body, headers=JSON)
    assert answer.status_code == 422 and len(answer.text) < 1_000, answer.text
    assert nothing_is_left(api)


@pytest.mark.parametrize(
    "path",
    [
        "/api/runs?limit=²", f"/api/runs?limit={'9' * 30}", "/api/runs?batch=x&cursor=²", "/api/usage?days=٣",
        f"/api/runs?batch=x&cursor={'9' * 30}", "/api/runs?limit=true", "/api/usage?days=1e400",
        f"/api/runs/run_x/events?after={'9' * 30}", "/api/runs/run_x/events?after=²",
    ],
)  # fmt: skip
def test_a_number_of_an_address_is_refused(api: Api, path: str) -> None:
    assert api.client.get(path).status_code == 422


def test_a_forged_event_number_is_passed_over(api: Api) -> None:
    run_id = api.client.post("/api/runs", json={"question": "a"}).json()["run_id"]
    for forged in (b"\xb2", b"9" * 30, b"-1", b"x"):
        with api.client.stream(
            "GET", f"/api/runs/{run_id}/events?follow=false", headers={b"last-event-id": forged}
        ) as answer:
            assert answer.status_code == 200


def test_texts_that_no_database_takes_are_refused_everywhere(api: Api) -> None:
    run_id = api.client.post("/api/runs", json={"question": "a"}).json()["run_id"]
    for path, name in ((f"/api/runs/{run_id}/answer", "text"), (f"/api/runs/{run_id}/refuse", "reason"),
                       ("/api/models/some/pause", "reason")):  # fmt: skip
        for text in (r'"a\u0000b"', r'"\ud800"', "[" * 500 + "]" * 500, "[" * 20_000, "true"):
            answer = api.client.post(path, content=f'{{"{name}": {text}}}', headers=JSON)
            assert answer.status_code in (400, 422), answer.text


def test_columns_of_a_file_stay_metadata_and_one_that_resembles_an_option_is_noted_once(api: Api) -> None:
    rows = [{"question": f"q{n}", "max_step": 3, "Model": "m", "temprature": 1, "title": "t"} for n in range(3)]
    answer = api.client.post("/api/batches", content=lines(*rows), headers=JSONL).json()
    assert [row.metadata for row in stored(api)] == [{k: v for k, v in rows[0].items() if k != "question"}] * 3
    assert len(answer["notes"]) == 3 and not any("title" in note for note in answer["notes"])
    for column, option in (("max_step", "max_steps"), ("Model", "model"), ("temprature", "temperature")):
        assert sum(repr(column) in note and repr(option) in note for note in answer["notes"]) == 1
    table = b"question,Max Steps,name,limit,notes\na,1,2,3,4\n"
    notes = api.client.post("/api/batches", content=table, headers=CSV).json()["notes"]
    assert len(notes) == 1 and "'Max Steps'" in notes[0]


def test_a_template_may_use_any_field_of_a_json_body(api: Api) -> None:
    body = {"template": "Classify {title}", "runs": [{"title": "red", "note": "x"}]}
    assert api.client.post("/api/batches", json=body).status_code == 201
    assert stored(api)[0].metadata == {"title": "red", "note": "x"}


@pytest.mark.parametrize("depth", [33, 253, 900, 2_000, 100_000])
def test_metadata_is_refused_beyond_32_levels_at_every_way_in(api: Api, depth: int) -> None:
    deep = '{"a":' * (depth - 1) + "{}" + "}" * (depth - 1)
    line = f'{{"question": "q", "metadata": {deep}}}'
    column = f'{{"question": "q", "col": {deep[5:-1]}}}'
    cell = '"' + deep.replace('"', '""') + '"'
    for path, content, headers in [
        ("/api/runs", line, JSON), ("/api/batches", f'{{"runs": [{line}]}}', JSON), ("/api/batches", line, JSONL),
        ("/api/batches", column, JSONL), ("/api/batches", f"question,metadata\nq,{cell}\n", CSV),
        ("/api/batches", f'{{"runs": ["q"], "name": {deep}}}', JSON),
    ]:  # fmt: skip
        answer = api.client.post(path, content=content, headers=headers)
        assert answer.status_code == 422 and len(answer.text) < 1_000, answer.text
    assert nothing_is_left(api)


def test_metadata_of_32_levels_is_taken_and_shown(api: Api) -> None:
    deep: Any = {}
    for _ in range(31):
        deep = {"a": deep}
    run_id = api.client.post("/api/runs", json={"question": "q", "metadata": deep}).json()["run_id"]
    assert api.client.get(f"/api/runs/{run_id}").json()["metadata"] == deep
    assert json.loads(json.dumps(deep)) == deep
