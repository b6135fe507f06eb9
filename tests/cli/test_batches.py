"""`stepmill batch` against a real API, without workers: submitting, output, and actions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, Run
from tests.services.waiting import wait_until

pytestmark = pytest.mark.usefixtures("api_url")


def jsonl(path: Path, *questions: str) -> str:
    path.write_text("".join(json.dumps({"question": question}) + "\n" for question in questions))
    return str(path)


def submitted(stepmill: Run, path: str, *options: str) -> str:
    ran = stepmill("batch", "submit", path, "--json", *options)
    assert ran.code == 0, ran.err
    batch_id: str = ran.json["batch_id"]
    return batch_id


def questions_of(stepmill: Run, batch_id: str) -> list[str]:
    runs = stepmill("run", "list", "--batch", batch_id, "--json").json
    return [run["question"] for run in runs]


def test_submit_says_what_was_taken_and_where_to_watch(stepmill: Run, tmp_path: Path) -> None:
    ran = stepmill("batch", "submit", jsonl(tmp_path / "a.jsonl", "one a", "two a"))
    assert ran.code == 0, ran.err
    assert "2 questions taken" in ran.out
    assert "stepmill batch status batch_" in ran.out
    assert "practice mode" in ran.err


def test_the_same_file_and_options_are_the_same_batch_unless_new(stepmill: Run, tmp_path: Path) -> None:
    path = jsonl(tmp_path / "same.jsonl", "one b", "two b")
    first = submitted(stepmill, path)
    assert submitted(stepmill, path) == first
    assert "was submitted before" in stepmill("batch", "submit", path).out
    assert submitted(stepmill, path, "--new") != first
    assert submitted(stepmill, path, "--max-steps", "3") != first
    assert submitted(stepmill, jsonl(tmp_path / "same.jsonl", "one b", "two b!")) != first


def test_csv_and_plain_lines_are_told_by_the_suffix(stepmill: Run, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question,lang\nWho?,en\n")
    (tmp_path / "q.tsv").write_text("question\tlang\nWho, me?\ten\n")
    (tmp_path / "q.txt").write_text("Where?\nWhen?\n")
    assert questions_of(stepmill, submitted(stepmill, "q.csv")) == ["Who?"]
    assert questions_of(stepmill, submitted(stepmill, "q.tsv")) == ["Who, me?"]
    assert questions_of(stepmill, submitted(stepmill, "q.txt")) == ["Where?", "When?"]


def test_standard_input_is_read_and_is_the_same_batch_twice(stepmill: Run) -> None:
    def piped() -> Ran:
        return stepmill("batch", "submit", "-", "--json", stdin="First from a pipe?\nSecond?\n")

    assert piped().json["taken"] == 2
    assert piped().json["existing"] is True


def test_a_template_makes_questions_from_columns(stepmill: Run, tmp_path: Path) -> None:
    (tmp_path / "titles.csv").write_text("title,id\nStars,7\n")
    batch_id = submitted(stepmill, "titles.csv", "--template", "Classify {title}")
    assert questions_of(stepmill, batch_id) == ["Classify Stars"]


def test_limit_takes_the_first_ones(stepmill: Run, tmp_path: Path) -> None:
    batch_id = submitted(stepmill, jsonl(tmp_path / "l.jsonl", "one", "two", "three"), "--limit", "2")
    assert questions_of(stepmill, batch_id) == ["one", "two"]


def test_a_malformed_line_refuses_the_file_with_its_number(stepmill: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"question": "fine"}\n{"question": \n')
    ran = stepmill("batch", "submit", "bad.jsonl")
    assert ran.code == 2
    assert "line 2" in ran.err.lower()


def test_skip_invalid_lists_what_it_left_out(stepmill: Run, tmp_path: Path) -> None:
    (tmp_path / "some.jsonl").write_text('{"question": "fine"}\n{"question": \n')
    ran = stepmill("batch", "submit", "some.jsonl", "--skip-invalid")
    assert ran.code == 0, ran.err
    assert "Left out, line 2" in ran.err


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        (b"", (), "no question"),
        (b'{"question": "x"}\n', ("--agent", "nobody"), "nobody"),
        (b'{"question": "x"}\n', ("--dialect", "klingon"), "klingon"),
        (b'{"question": "x"}\n', ("--max-failures", "many"), "many"),
    ],
)
def test_wrong_input_is_one_clear_sentence(
    stepmill: Run, tmp_path: Path, content: bytes, options: tuple[str, ...], words: str
) -> None:
    (tmp_path / "wrong.jsonl").write_bytes(content)
    ran = stepmill("batch", "submit", "wrong.jsonl", *options)
    assert ran.code == 2
    assert words in ran.err.lower()
    assert "Traceback" not in ran.err


def test_a_json_array_is_refused_and_not_taken_for_one_question(stepmill: Run, tmp_path: Path) -> None:
    (tmp_path / "many.json").write_text('[{"question": "a"}, {"question": "b"}]')
    ran = stepmill("batch", "submit", "many.json")
    assert ran.code == 2
    assert "JSON array; write one object on each line" in ran.err


def test_a_missing_file_and_a_directory_are_named(stepmill: Run, tmp_path: Path) -> None:
    assert "There is no file nowhere.jsonl" in stepmill("batch", "submit", "nowhere.jsonl").err
    assert "is a directory" in stepmill("batch", "submit", str(tmp_path)).err


def test_pause_resume_and_cancel_act_once(stepmill: Run, tmp_path: Path) -> None:
    batch_id = submitted(stepmill, jsonl(tmp_path / "p.jsonl", "pause me"))
    assert "paused (" in stepmill("batch", "pause", batch_id).out
    assert "Nothing to pause" in stepmill("batch", "pause", batch_id).out
    assert " open " in stepmill("batch", "resume", batch_id).out
    assert stepmill("batch", "cancel", batch_id, "--json").json["changed"] is True
    assert stepmill("batch", "cancel", batch_id, "--json").json["changed"] is False


def test_a_watched_batch_that_ends_otherwise_ends_with_1(stepmill: Run, tmp_path: Path) -> None:
    batch_id = submitted(stepmill, jsonl(tmp_path / "w.jsonl", "watch me"))
    stepmill("batch", "cancel", batch_id)
    ran = stepmill("batch", "status", batch_id, "--watch")
    assert ran.code == 1
    assert "cancelled" in ran.out


def test_watching_a_paused_batch_stops_and_says_how_to_go_on(stepmill: Run, tmp_path: Path) -> None:
    batch_id = submitted(stepmill, jsonl(tmp_path / "v.jsonl", "pause and watch me"))
    stepmill("batch", "pause", batch_id)
    ran = stepmill("batch", "status", batch_id, "--watch")
    assert ran.code == 1
    assert f"stepmill batch resume {batch_id}" in ran.out


def test_leaving_a_watched_batch_says_how_to_come_back(
    stepmill: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("worker.cli.batches.outcome.watch", interrupted)
    ran = stepmill("batch", "submit", jsonl(tmp_path / "c.jsonl", "leave me"), "--wait")
    assert ran.code == 130
    assert "keeps running" in ran.err
    assert "Watch again: stepmill batch status batch_" in ran.err


def test_status_tells_counts_and_why_it_waits(stepmill: Run, tmp_path: Path) -> None:
    batch_id = submitted(stepmill, jsonl(tmp_path / "s.jsonl", "status of me"))
    ran = stepmill("batch", "status", batch_id)
    assert ran.code == 0
    assert "0/1 ended" in ran.out
    assert "1 wait: " in ran.out


def test_results_come_in_the_inputs_order_also_unfinished(stepmill: Run, tmp_path: Path) -> None:
    batch_id = submitted(stepmill, jsonl(tmp_path / "r.jsonl", "first", "second"))
    records = [json.loads(line) for line in stepmill("batch", "results", batch_id).out.splitlines()]
    assert [record["question"] for record in records] == ["first", "second"]
    assert stepmill("batch", "results", batch_id, "--format", "csv").out.startswith("custom_id,")


def test_results_go_to_a_file_in_the_format_of_its_suffix(stepmill: Run, tmp_path: Path) -> None:
    batch_id = submitted(stepmill, jsonl(tmp_path / "f.jsonl", "to a file"))
    assert stepmill("batch", "results", batch_id, "--output", "out.csv").code == 0
    assert (tmp_path / "out.csv").read_text().startswith("custom_id,")
    assert not list(tmp_path.glob("*.partial"))
    assert "Written: out.xlsx (JSONL)" in stepmill("batch", "results", batch_id, "--output", "out.xlsx").err
    assert "There is no directory nowhere." in stepmill("batch", "results", batch_id, "--output", "nowhere/o.csv").err


def test_results_of_an_unknown_batch_leave_no_file(stepmill: Run, tmp_path: Path) -> None:
    ran = stepmill("batch", "results", "batch_nowhere", "--output", "out.jsonl")
    assert ran.code == 2
    assert "batch_nowhere" in ran.err
    assert not list(tmp_path.glob("out.jsonl*"))


def test_retry_of_cancelled_runs_says_how_many_begin_anew(stepmill: Run, tmp_path: Path) -> None:
    batch_id = submitted(stepmill, jsonl(tmp_path / "t.jsonl", "retry me"))
    assert stepmill("batch", "retry", batch_id).out.startswith("0 runs are queued again.")


def test_retry_where_all_was_cancelled_names_the_option_that_takes_those(stepmill: Run, tmp_path: Path) -> None:
    batch_id = submitted(stepmill, jsonl(tmp_path / "k.jsonl", "cancel me", "and me"))
    stepmill("batch", "cancel", batch_id)
    wait_until("both are cancelled", lambda: "2 cancelled" in stepmill("batch", "retry", batch_id).out)
    assert "`--code cancelled` takes the 2 that were cancelled." in stepmill("batch", "retry", batch_id).err


def test_the_list_has_the_newest_batch_first(stepmill: Run, tmp_path: Path) -> None:
    batch_id = submitted(stepmill, jsonl(tmp_path / "n.jsonl", "newest"), "--name", "nightly")
    rows = stepmill("batch", "list", "--limit", "1").out.splitlines()
    assert rows[0].split("\t")[:2] == ["batch", "name"]
    assert rows[1].split("\t")[:2] == [batch_id, "nightly"]
