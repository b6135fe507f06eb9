"""The whole stack by its commands, as a newcomer types them: up, ask, batch, run, doctor, down; and ask without any."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.cli.conftest import clean_environment

pytestmark = pytest.mark.slow

STEPMILL = (sys.executable, "-m", "worker.cli.main")


def run(directory: Path, *args: str, timeout_s: float = 90.0) -> subprocess.CompletedProcess[str]:
    """A command as its own process, in that directory."""
    return subprocess.run(
        [*STEPMILL, *args], cwd=directory, env=clean_environment(), capture_output=True, text=True, timeout=timeout_s
    )


def test_ask_without_a_stack_starts_one_and_leaves_nothing_behind(tmp_path: Path) -> None:
    ran = run(tmp_path, "ask", "What is 6 * 7?", "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["answer"] == "42"
    assert not left_over(tmp_path)
    again = run(tmp_path, "run", "list", "--json")
    assert [one["answer"] for one in json.loads(again.stdout)] == ["42"]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory in which `stepmill up --detach` was typed."""
    directory = tmp_path_factory.mktemp("stack")
    ran = run(directory, "up", "--detach", "--port", "0", "--no-flower")
    try:
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert "The stack is ready." in ran.stdout
        assert "practice mode" in ran.stdout
        yield directory
    finally:
        run(directory, "down")


def test_ask_tells_each_step_and_the_answer(stack: Path) -> None:
    ran = run(stack, "ask", "What is (15 + 7) * 3?")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    labels = [line.partition(":")[0] for line in ran.stdout.splitlines()]
    assert [label for label in labels if label in ("Thought", "Action", "Observation", "Answer")] == [
        "Thought", "Action", "Observation", "Thought", "Answer"
    ]  # fmt: skip
    assert "Answer:      66" in ran.stdout
    assert "practice mode" in ran.stderr


def test_ask_as_json_prints_the_record_only(stack: Path) -> None:
    record = json.loads(run(stack, "ask", "What is 6 * 7?", "--json").stdout)
    assert (record["status"], record["answer"], record["simulated"]) == ("succeeded", "42", True)


def test_a_batch_is_submitted_watched_and_taken_home(stack: Path) -> None:
    questions = [{"custom_id": f"q{n}", "question": f"What is {n} * 3?", "metadata": {"n": n}} for n in range(8)]
    (stack / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in questions))
    submitted = run(stack, "batch", "submit", "questions.jsonl", "--wait")
    assert submitted.returncode == 0, submitted.stdout + submitted.stderr
    assert "8/8 ended | 8 succeeded" in submitted.stdout
    batch_id = json.loads(run(stack, "batch", "list", "--limit", "1", "--json").stdout)[0]["batch_id"]
    assert run(stack, "batch", "results", batch_id, "--output", "out.jsonl").returncode == 0
    records = [json.loads(line) for line in (stack / "out.jsonl").read_text().splitlines()]
    assert [(record["custom_id"], record["answer"]) for record in records] == [(f"q{n}", str(n * 3)) for n in range(8)]
    assert [record["metadata"] for record in records] == [{"n": n} for n in range(8)]


def test_a_run_is_shown_with_its_steps(stack: Path) -> None:
    record = json.loads(run(stack, "ask", "What is 5 * 5?", "--json").stdout)
    shown = run(stack, "run", "show", record["run_id"])
    assert shown.returncode == 0, shown.stderr
    assert "Action:      calculator" in shown.stdout
    assert "Answer:      25" in shown.stdout


def test_the_doctor_finds_nothing_wrong(stack: Path) -> None:
    ran = run(stack, "doctor")
    assert ran.returncode == 0, ran.stdout
    assert "Nothing is wrong." in ran.stdout


def test_a_second_up_says_what_runs_already(stack: Path) -> None:
    ran = run(stack, "up", "--port", "0")
    assert ran.returncode == 2
    assert "A stack runs already" in ran.stderr
    assert "stepmill down" in ran.stderr


def left_over(directory: Path) -> list[str]:
    """Processes that still belong to the stack of that directory."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline"]):
        try:
            data_dir = process.environ().get("STEPMILL_DATA_DIR", "")
        except (psutil.Error, OSError):
            continue
        if Path(data_dir) == (directory / ".stepmill").absolute():
            found.append(" ".join(process.info["cmdline"] or ()))
    return found
