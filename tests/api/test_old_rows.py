"""Rows of an older version that no answer can represent are shown with a mark and never hide others."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow.parquet
import pytest
from sqlalchemy import text, update

from api.routes import events, results
from tests.api.conftest import Api
from tests.api.words import act, admit_work_messages, answer, observe
from tests.store.conftest import World
from worker.store.queries.runs import all_of_batch
from worker.store.schema.tables import runs, tool_calls
from worker.store.session import AnyRow

DEEP = 300
PLAIN = {"content-type": "text/plain"}


def spoil(api: Api, run_id: str, how: str) -> None:
    """Makes a row as it could not be submitted today."""
    store = api.context.store
    written = {
        "deep": '{"a":' * DEEP + "1" + "}" * DEEP,
        "surrogate": '{"a": "\\ud800", "\\ud800": 1}',
        "big": '{"a": 1' + "0" * 30 + "}",
    }
    with store.write() as tx:
        if how in written:
            tx.execute(text("UPDATE runs SET metadata = :it WHERE id = :run"), {"it": written[how], "run": run_id})
        elif how == "no configuration":
            tx.execute(update(runs).where(runs.c.id == run_id).values(config_hash="gone"))
        else:
            tx.execute(update(runs).where(runs.c.id == run_id).values(started_at=float("inf"), cost_usd=float("inf")))


@pytest.fixture(params=["deep", "surrogate", "big", "no configuration", "no moment"])
def batch(request: pytest.FixtureRequest, api: Api, moved: World) -> tuple[str, list[str]]:
    """Three answered runs, of which the second has been spoilt."""
    batch_id = api.client.post("/api/batches", content=b"One?\nTwo?\nThree?\n", headers=PLAIN).json()["batch_id"]
    ids = [item["run_id"] for item in api.client.get(f"/api/runs?batch={batch_id}").json()["items"]]
    for work_message in admit_work_messages(moved).values():
        answer(moved, observe(moved, act(moved, work_message)[0])[0], "fine")
    spoil(api, ids[1], request.param)
    return batch_id, ids


def test_lists_and_exports_show_every_row_and_mark_the_one_that_cannot_be_shown(
    api: Api, batch: tuple[str, list[str]]
) -> None:
    batch_id, ids = batch
    whole = api.client.get(f"/api/runs?batch={batch_id}")
    assert whole.status_code == 200 and [item["run_id"] for item in whole.json()["items"]] == ids
    assert api.client.get("/api/runs").status_code == api.client.get("/api/batches").status_code == 200
    assert api.client.get(f"/api/batches/{batch_id}").status_code == 200
    assert api.client.get(f"/api/runs/{ids[1]}").json()["run_id"] == ids[1]
    for steps in ("false", "true"):
        address = f"/api/batches/{batch_id}/results?with_steps={steps}&format="
        lines = [json.loads(line) for line in api.client.get(address + "jsonl").content.splitlines()]
        assert [line["run_id"] for line in lines] == ids
        assert [line["answer"] for line in (lines[0], lines[2])] == ["fine"] * 2 and lines[0]["error"] is None
        rows = list(csv.DictReader(io.StringIO(api.client.get(address + "csv").text)))
        assert [row["run_id"] for row in rows] == ids and rows[2]["answer"] == "fine"
        table = pyarrow.parquet.read_table(io.BytesIO(api.client.get(address + "parquet").content))
        assert table.column("run_id").to_pylist() == ids


def test_the_events_of_such_a_run_are_told_to_the_end(api: Api, batch: tuple[str, list[str]]) -> None:
    told = api.client.get(f"/api/runs/{batch[1][1]}/events").text
    assert told.count("event: step") == 2 and "event: error" not in told
    assert told.rstrip().split("\n\n")[-1].startswith("event: end\ndata: {")


def test_metadata_that_is_not_shown_whole_is_named_as_an_error(api: Api) -> None:
    run_id = api.client.post("/api/runs", json={"question": "a"}).json()["run_id"]
    spoil(api, run_id, "deep")
    item = api.client.get("/api/runs").json()["items"][0]
    assert "levels" in item["error"]["message"] and "not shown" in json.dumps(item["metadata"])


def test_arguments_of_tools_that_no_answer_can_carry_are_shown_as_far_as_they_can(api: Api, moved: World) -> None:
    run_id = api.client.post("/api/runs", json={"question": "a"}).json()["run_id"]
    act(moved, next(work_message for work_message in api.sender.work_messages if work_message.run_id == run_id))
    deep: Any = 1
    for _ in range(DEEP):
        deep = [deep]
    for args in ({"n": 10**40}, {"n": deep}, {"n": "\ud800"}):
        with api.context.store.write() as tx:
            tx.execute(update(tool_calls).values(args=args))
        batch_id = api.client.get("/api/batches").json()["items"][0]["batch_id"]
        assert api.client.get(f"/api/runs/{run_id}").json()["trace"][0]["calls"][0]["args"]["n"]
        (line,) = api.client.get(f"/api/batches/{batch_id}/results?with_steps=true").content.splitlines()
        assert json.loads(line)["trace"][0]["calls"][0]["args"]["n"]
        assert "event: step" in api.client.get(f"/api/runs/{run_id}/events?follow=false").text


def test_an_export_that_breaks_off_says_so_in_its_last_record(
    api: Api, moved: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch_id = api.client.post("/api/batches", content=b"One?\nTwo?\n", headers=PLAIN).json()["batch_id"]

    def breaking(*args: Any) -> Iterator[Sequence[AnyRow]]:
        yield from all_of_batch(*args)
        raise ConnectionError("gone")

    monkeypatch.setattr(results, "all_of_batch", breaking)
    lines = [json.loads(line) for line in api.client.get(f"/api/batches/{batch_id}/results").content.splitlines()]
    assert len(lines) == 3 and lines[0]["error"] is None
    assert "break off" in lines[2]["error"]["message"] and lines[2]["run_id"] is None
    rows = list(csv.DictReader(io.StringIO(api.client.get(f"/api/batches/{batch_id}/results?format=csv").text)))
    assert len(rows) == 3 and "break off" in rows[2]["error_message"]


def test_events_that_break_off_say_so_in_a_last_event(api: Api, moved: World, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = api.client.post("/api/runs", json={"question": "a"}).json()["run_id"]

    def broken(*_: Any) -> None:
        raise ConnectionError("gone")

    monkeypatch.setattr(events, "events_between", broken)
    told = api.client.get(f"/api/runs/{run_id}/events")
    assert told.status_code == 200 and told.text.startswith("event: error\n") and "break off" in told.text
