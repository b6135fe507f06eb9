"""Questions come in as JSON, JSONL, CSV and plain lines; a bad one is named and leaves nothing behind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import func, select

from tests.api.conftest import Api
from worker.store.schema.tables import batches, runs

JSONL = {"content-type": "application/x-ndjson"}
CSV = {"content-type": "text/csv"}
PLAIN = {"content-type": "text/plain"}
ON_ONE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""For tables of cases that are refused before any database could make a difference."""


def lines(*records: object) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def stored(api: Api) -> list[Any]:
    with api.context.store.read() as tx:
        return list(tx.execute(select(runs).order_by(runs.c.batch_id, runs.c.seq)).all())


def nothing_is_left(api: Api) -> bool:
    with api.context.store.read() as tx:
        return all(tx.execute(select(func.count()).select_from(t)).scalar() == 0 for t in (runs, batches))


def test_a_json_body_becomes_a_batch_in_order(api: Api) -> None:
    body = {
        "name": "sums",
        "agent": "classic",
        "runs": [
            {"question": "What is 1+1?", "custom_id": "a", "metadata": {"set": "x"}, "expected": "2"},
            "What is 2+2?",
            {"question": "Weather?", "agent": "travel", "max_steps": 3},
        ],
    }
    answer = api.client.post("/api/batches", json=body)
    assert answer.status_code == 201, answer.text
    assert answer.json()["taken"] == 3 and answer.json()["simulated"] is True
    assert answer.json()["batch_id"] in answer.json()["watch"]
    rows = stored(api)
    assert [(r.seq, r.custom_id, r.question) for r in rows] == [
        (1, "a", "What is 1+1?"), (2, None, "What is 2+2?"), (3, None, "Weather?")
    ]  # fmt: skip
    assert rows[0].metadata == {"set": "x"} and rows[0].expected == "2"
    configs = [api.context.configuration(row.config_hash) for row in rows]
    assert [(c.name, c.dialect) for c in configs][:2] == [("classic", "react_text")] * 2
    assert (configs[2].name, configs[2].max_steps) == ("travel", 3)
    assert api.admitter.wakes >= 1


def test_jsonl_is_taken_with_options_in_the_query(api: Api) -> None:
    data = b"\xef\xbb\xbf" + lines({"question": "Eins?"}, {"question": "我爱编程?", "level": 3}) + b"\n"
    answer = api.client.post("/api/batches?name=night&agent=minimal&max_failures=5%25", content=data, headers=JSONL)
    assert answer.status_code == 201, answer.text
    batch = api.client.get(f"/api/batches/{answer.json()['batch_id']}").json()
    assert (batch["name"], batch["total"], batch["max_failures"]) == ("night", 2, "5%")
    assert [row.question for row in stored(api)] == ["Eins?", "我爱编程?"]
    assert stored(api)[1].metadata == {"level": 3}


def test_csv_columns_fill_a_template_and_come_back_as_metadata(api: Api) -> None:
    data = b'title,custom_id,note\n"Red, white",1,\n"two\nlines",2,x\n'
    answer = api.client.post("/api/batches", content=data, headers=CSV, params={"template": "Classify {title}!"})
    assert answer.status_code == 201, answer.text
    assert [row.question for row in stored(api)] == ["Classify Red, white!", "Classify two\nlines!"]
    assert stored(api)[0].metadata == {"title": "Red, white", "note": ""}


def test_plain_lines_and_guessed_streams_are_taken(api: Api) -> None:
    assert api.client.post("/api/batches", content=b"One?\n\nTwo?\n", headers=PLAIN).json()["taken"] == 2
    guess = {"content-type": "application/octet-stream"}
    assert api.client.post("/api/batches", content=lines({"question": "Three?"}), headers=guess).json()["taken"] == 1
    assert sorted(row.question for row in stored(api)) == ["One?", "Three?", "Two?"]


def test_openai_request_lines_are_understood(api: Api) -> None:
    body = {
        "model": "practice",
        "temperature": 0.5,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 1+1?"}],
    }
    line = {"custom_id": "r-1", "method": "POST", "url": "/v1/chat/completions", "body": body}
    answer = api.client.post("/api/batches", content=lines(line), headers=JSONL)
    assert answer.status_code == 201, answer.text
    assert (stored(api)[0].custom_id, stored(api)[0].question) == ("r-1", "Be brief.\n\nWhat is 1+1?")
    assert "temperature" in answer.json()["notes"][0]


@ON_ONE
@pytest.mark.parametrize(
    ("content", "headers", "line", "says"),
    [
        (b'{"question": "a"}\n{"question": \n', JSONL, 2, "not valid JSON"),
        (b'{"question": "a"}\n{"q": "b"}\n', JSONL, 2, 'no "question"'),
        (b'{"question": "a"}\n\n{"question": "  "}\n', JSONL, 3, "empty"),
        (b'{"question": 7}\n', JSONL, 1, "must be text"),
        (b'["a"]\n', JSONL, 1, "array"),
        (b'{"question": "a", "agent": "nobody"}\n', JSONL, 1, "nobody"),
        (b'{"question": "a", "dialect": "latin"}\n', JSONL, 1, "latin"),
        (b'{"question": "a", "max_steps": 0}\n', JSONL, 1, "max_steps"),
        (b'{"question": "a", "metadata": []}\n', JSONL, 1, "metadata"),
        (b'{"question": "a\\u0000b"}\n', JSONL, 1, "NUL"),
        (b'{"question": "' + b"x" * 1_001 + b'"}\n', JSONL, 1, "1,001 bytes"),
        (b'{"question": "a", "custom_id": "x"}\n{"question": "b", "custom_id": "x"}\n', JSONL, 2, "repeats"),
        (b"Gr\xfc\xdfe?\n", PLAIN, 1, "not UTF-8"),
        (b"question\nok\nGr\xfc\xdfe?\n", CSV, 3, "not UTF-8"),
        (b"question,x\na,b\nc\n", CSV, 3, "1 cells"),
    ],
)
def test_a_bad_line_refuses_the_whole_input_and_is_named(
    api: Api, content: bytes, headers: dict[str, str], line: int, says: str
) -> None:
    answer = api.client.post("/api/batches", content=content, headers=headers)
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert (error["code"], error["line"]) == ("bad_line", line) and says in error["message"], error
    assert f"Line {line} " in error["message"] and "skip-invalid" in error["hint"]
    assert nothing_is_left(api)


def test_with_skip_invalid_the_rest_is_taken_and_the_refused_lines_are_listed(api: Api) -> None:
    ids = [{"question": f"q{n}", "custom_id": str(n)} for n in range(2_500)]
    data = lines(*ids[:2_000], {"nothing": 1}, ids[5], *ids[2_000:], {"question": "z", "custom_id": "2499"})
    answer = api.client.post("/api/batches?skip_invalid=true", content=data, headers=JSONL).json()
    assert (answer["taken"], answer["refused_count"]) == (2_500, 3)
    assert [refused["line"] for refused in answer["refused"]] == [2_001, 2_002, 2_503]
    assert "repeats the custom_id '5'" in answer["refused"][1]["reason"]
    assert [row.seq for row in stored(api)] == list(range(1, 2_501)), "numbers have no gaps, which admission relies on"


@ON_ONE
@pytest.mark.parametrize(
    ("content", "params", "headers", "says"),
    [
        (b"", {}, JSONL, "no question"),
        (b"\n \n", {}, PLAIN, "no question"),
        (b"question\n", {}, CSV, "no question"),
        (b"{}\n", {"skip_invalid": "true"}, JSONL, "line 1"),
        (b"a,b\n1,2\n", {}, CSV, "no column 'question'"),
        (b"a,b\n1,2\n", {"template": "{c}"}, CSV, "no column 'c'"),
        (b"a,a\n1,2\n", {}, CSV, "twice"),
        (b"x\n", {"template": "Classify"}, PLAIN, "names no column"),
        (b"x\n", {"agent": "nobody"}, PLAIN, "nobody"),
        (b"x\n", {"max_failures": "many"}, PLAIN, "many"),
        (b"x\n", {"weight": "0"}, PLAIN, "weight"),
        (b"x\n", {"colour": "red"}, PLAIN, "colour"),
        (b"x\n", {}, {"content-type": "image/png"}, "image/png"),
        ("x?\n".encode("utf-16"), {}, PLAIN, "UTF-16"),
        (b"{", {}, {"content-type": "application/json"}, "not valid JSON"),
        (b'{"runs": []}', {}, {"content-type": "application/json"}, "no question"),
        (b'{"runs": 1}', {}, {"content-type": "application/json"}, "runs"),
    ],
)
def test_bad_input_gets_one_sentence_and_changes_nothing(
    api: Api, content: bytes, params: dict[str, str], headers: dict[str, str], says: str
) -> None:
    answer = api.client.post("/api/batches", content=content, params=params, headers=headers)
    assert answer.status_code == (415 if says == "image/png" else 422), answer.text
    assert says in answer.json()["error"]["message"] and "Traceback" not in answer.text
    assert nothing_is_left(api)


def test_the_same_submission_key_is_the_same_batch(api: Api) -> None:
    first = api.client.post("/api/batches?submission_key=k1", content=b"One?\n", headers=PLAIN)
    again = api.client.post("/api/batches?submission_key=k1", content=b"One?\n", headers=PLAIN)
    other = api.client.post("/api/batches?submission_key=k2", content=b"One?\n", headers=PLAIN)
    assert (first.status_code, again.status_code, other.status_code) == (201, 200, 201)
    assert again.json()["existing"] and not other.json()["existing"]
    assert again.json()["batch_id"] == first.json()["batch_id"] != other.json()["batch_id"]
    assert again.json()["taken"] == 1 and len(stored(api)) == 2


def test_a_limit_takes_the_first_lines_only(api: Api) -> None:
    answer = api.client.post("/api/batches?limit=2", content=b"One?\nTwo?\nThree?\nFour?\n", headers=PLAIN)
    assert answer.json()["taken"] == 2
    assert [row.question for row in stored(api)] == ["One?", "Two?"]


def test_a_chunked_body_is_read_as_it_comes(api: Api) -> None:
    def pieces() -> Iterator[bytes]:
        for n in range(3_000):
            yield f'{{"question": "What is {n}'.encode()
            yield b'?"}\n'

    answer = api.client.post("/api/batches", content=pieces(), headers=JSONL)
    assert answer.json()["taken"] == 3_000
    assert stored(api)[-1].question == "What is 2999?"


def test_a_single_interactive_question_begins_at_once(api: Api) -> None:
    answer = api.client.post("/api/runs", json={"question": "What is 3*4?", "agent": "classic"})
    assert answer.status_code == 201, answer.text
    assert [work_message.run_id for work_message in api.sender.work_messages] == [answer.json()["run_id"]]
    assert api.sender.work_messages[0].queue == "think.interactive"
    run = api.client.get(f"/api/runs/{answer.json()['run_id']}").json()
    assert (run["status"], run["agent"], run["klass"], run["phase"]) == ("active", "classic", "interactive", "think")
    assert "no worker serves think.interactive" in run["waiting"]


def test_a_single_question_is_checked_like_a_line(api: Api) -> None:
    for body, says in [({}, "question"), ({"question": ""}, "empty"), ({"question": "x", "agent": "nobody"}, "nobody"),
                       ({"question": "x", "klass": "royal"}, "royal")]:  # fmt: skip
        answer = api.client.post("/api/runs", json=body)
        assert answer.status_code == 422 and says in answer.json()["error"]["message"], answer.text
    assert nothing_is_left(api)


def test_text_that_no_database_takes_is_refused_in_a_sentence(api: Api) -> None:
    for path, content in [
        ("/api/runs", rb'{"question": "\ud800"}'),
        ("/api/runs", rb'{"question": "a", "submission_key": "\u0000"}'),
        ("/api/batches", rb'{"runs": ["\ud800"]}'),
        ("/api/batches", rb'{"runs": ["a"], "name": "\u0000"}'),
        ("/api/runs", b"[]"),
        ("/api/runs", b"{"),
    ]:
        answer = api.client.post(path, content=content, headers={"content-type": "application/json"})
        assert answer.status_code == 422 and answer.json()["error"]["message"].endswith("."), answer.text
    assert nothing_is_left(api)
    answer = api.client.post("/api/runs", json={"question": "a", "metadata": {"k": "a\0b"}})
    assert answer.status_code == 201 and stored(api)[0].metadata == {"k": "a\0b"}
