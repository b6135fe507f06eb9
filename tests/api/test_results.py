"""Results come out in the input's order, as JSONL, CSV and Parquet, while the batch runs and after."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pyarrow.parquet
import pytest

from tests.api.conftest import Api
from tests.api.words import act, admit_work_messages, answer, fail, observe
from tests.store.conftest import World
from worker.results.export import Shape, write_jsonl

FIELDS = [
    "custom_id", "run_id", "question", "status", "answer", "partial_answer", "error", "agent", "model", "simulated",
    "steps", "usage", "cost_usd", "wasted", "attempts", "started_at", "finished_at", "metadata",
]  # fmt: skip


@pytest.fixture
def half_done(api: Api, moved: World) -> str:
    """A batch of four: answered after a tool call, failed, in motion, and one more answered."""
    rows = "custom_id,question,topic,status\n1,=1+1?,sums,new\n2,Two?,sums,old\n3,Three?,x,y\n4,Four?,,\n"
    answered = api.client.post("/api/batches", content=rows.encode(), headers={"content-type": "text/csv"})
    batch_id = str(answered.json()["batch_id"])
    work_messages = admit_work_messages(moved)
    ids = [item["run_id"] for item in api.client.get(f"/api/runs?batch={batch_id}").json()["items"]]
    answer(moved, observe(moved, act(moved, work_messages[ids[0]])[0])[0], "Two, naturally")
    fail(moved, work_messages[ids[1]])
    answer(moved, work_messages[ids[3]], "我爱\nyou")
    return batch_id


def jsonl(api: Api, batch_id: str, **params: object) -> list[dict[str, Any]]:
    answered = api.client.get(f"/api/batches/{batch_id}/results", params={k: str(v) for k, v in params.items()})
    assert answered.status_code == 200, answered.text
    assert answered.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answered.content.splitlines()]


def test_records_have_the_stated_fields_in_the_inputs_order(api: Api, half_done: str) -> None:
    records = jsonl(api, half_done)
    assert [list(record) for record in records] == [FIELDS] * 4
    assert [record["custom_id"] for record in records] == ["1", "2", "3", "4"]
    assert [record["status"] for record in records] == ["succeeded", "failed", "active", "succeeded"]
    first, second, third, _ = records
    assert first["answer"] == "Two, naturally" and first["steps"] == 2 and first["attempts"] == 3
    assert first["usage"] == {"prompt_tokens": 200, "cached_tokens": 20, "completion_tokens": 40}
    assert first["cost_usd"] == 1.0 and first["metadata"] == {"topic": "sums", "status": "new"}
    assert second["answer"] is None and second["error"]["code"] == "model_rejected"
    assert second["cost_usd"] is None, "a call of unknown price makes the cost unknown, not smaller"
    assert third["answer"] is None and third["finished_at"] is None and third["started_at"].endswith("Z")


def test_only_some_states_or_codes_come_out(api: Api, half_done: str) -> None:
    assert [r["custom_id"] for r in jsonl(api, half_done, only="failed")] == ["2"]
    assert [r["custom_id"] for r in jsonl(api, half_done, only="model_rejected,succeeded")] == ["1", "2", "4"]
    assert [r["custom_id"] for r in jsonl(api, half_done, only="ended")] == ["1", "2", "4"]
    answered = api.client.get(f"/api/batches/{half_done}/results?only=wrong")
    assert answered.status_code == 422 and "wrong" in answered.json()["error"]["message"]


def test_steps_come_with_their_calls_on_demand(api: Api, half_done: str) -> None:
    trace = jsonl(api, half_done, with_steps=True)[0]["trace"]
    assert [step["step"] for step in trace] == [1, 2]
    assert trace[0]["thought"] == "I add." and trace[1]["answer"] == "Two, naturally"
    call = trace[0]["calls"][0]
    assert (call["tool"], call["args"], call["observation"]) == ("calculator", {"expression": "0+1"}, "2")


def test_csv_has_metadata_columns_and_escapes_formulas_only_when_told(api: Api, half_done: str) -> None:
    def rows(excel_safe: bool) -> list[dict[str, str]]:
        url = f"/api/batches/{half_done}/results?format=csv&excel_safe={excel_safe}"
        return list(csv.DictReader(io.StringIO(api.client.get(url).content.decode(), newline="")))

    plain, safe = rows(False), rows(True)
    assert [row["question"] for row in plain] == ["=1+1?", "Two?", "Three?", "Four?"]
    assert [row["question"] for row in safe] == ["'=1+1?", "Two?", "Three?", "Four?"]
    assert plain[0]["topic"] == "sums" and plain[0]["metadata.status"] == "new" and plain[0]["status"] == "succeeded"
    assert plain[3]["answer"] == "我爱\nyou" and plain[1]["error_code"] == "model_rejected"
    assert plain[1]["cost_usd"] == "" and plain[0]["prompt_tokens"] == "200"


def test_parquet_has_typed_columns(api: Api, half_done: str) -> None:
    answered = api.client.get(f"/api/batches/{half_done}/results?format=parquet&with_steps=true")
    table = pyarrow.parquet.read_table(io.BytesIO(answered.content)).to_pylist()
    assert [row["status"] for row in table] == ["succeeded", "failed", "active", "succeeded"]
    assert table[0]["prompt_tokens"] == 200 and table[0]["simulated"] is True and table[1]["cost_usd"] is None
    assert table[0]["topic"] == "sums" and json.loads(table[0]["trace"])[0]["kind"] == "actions"


def test_a_long_batch_comes_out_whole_over_many_pages(api: Api) -> None:
    data = b"".join(b"Question %d?\n" % n for n in range(1_203))
    answered = api.client.post("/api/batches", content=data, headers={"content-type": "text/plain"})
    records = jsonl(api, answered.json()["batch_id"])
    assert [record["question"] for record in records] == [f"Question {n}?" for n in range(1_203)]
    table = api.client.get(f"/api/batches/{answered.json()['batch_id']}/results?format=parquet").content
    assert pyarrow.parquet.read_table(io.BytesIO(table)).num_rows == 1_203


def test_expected_answers_come_back_scored(api: Api, moved: World) -> None:
    body = {"runs": [{"question": "Capital?", "expected": "Paris", "custom_id": "p"}]}
    batch_id = api.client.post("/api/batches", json=body).json()["batch_id"]
    assert jsonl(api, batch_id)[0]["exact_match"] is None
    (work_message,) = admit_work_messages(moved).values()
    answer(moved, work_message, "paris!")
    record = jsonl(api, batch_id)[0]
    assert (record["expected"], record["exact_match"], record["f1"]) == ("Paris", True, 1.0)
    text = api.client.get(f"/api/batches/{batch_id}/results?format=csv").text
    assert next(csv.DictReader(io.StringIO(text)))["exact_match"] == "true"


def test_a_reader_of_large_records_is_given_little_at_a_time() -> None:
    records = [{"run_id": f"run_{n}", "answer": "x" * 50_000} for n in range(100)]
    pieces = list(write_jsonl([records], Shape()))
    assert max(len(piece) for piece in pieces) < 200_000
    assert [json.loads(line) for line in b"".join(pieces).splitlines()] == records
    small = [{"run_id": f"run_{n}"} for n in range(1_000)]
    assert len(list(write_jsonl([small], Shape()))) == 1
