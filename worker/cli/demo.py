"""`stepmill demo`: answers a file of questions through queues, workers and a model, and checks the answers."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from worker.cli.ask import OPERATOR_HINT
from worker.cli.client import Client
from worker.cli.demo_questions import FILES, demo_questions
from worker.cli.errors import EXIT_FAILED
from worker.cli.live import watch
from worker.cli.output import PRACTICE_NOTE, json_option, print_json, print_table, tokens
from worker.cli.plans import small_plan
from worker.cli.scores import holds, seconds_taken
from worker.cli.temporary_stack import last_lines, temporary_stack
from worker.core.errors import UserError
from worker.core.records import JsonObject
from worker.local.errors import ServiceFailed
from worker.local.plan import StackPlan
from worker.settings import Settings, settings
from worker.terminal import echo


@click.command("demo")
@click.option("--data-dir", type=click.Path(file_okay=False, path_type=Path), help="Keep the data here afterwards.")
@click.option("--seed", type=int, help="Seed of the questions' numbers, to repeat a demo.")
@click.option("--max-wait", "max_wait_s", default=300.0, show_default=True, help="Seconds until it gives up.")
@json_option
def demo_command(data_dir: Path | None, seed: int | None, max_wait_s: float, as_json: bool) -> None:
    """Answer a file of questions end to end, and check the answers.

    Starts a stack of its own on free ports and stops it afterwards. Without STEPMILL_MODEL the practice model answers.
    """
    began = time.monotonic()
    with _directory(data_dir) as directory:
        plan = _plan(settings(), directory)
        if not as_json:
            _introduce(plan)
        try:
            with temporary_stack(plan) as info, Client(info.addresses["API"], settings().admin_key) as client:
                records = _answered(client, demo_questions(seed), as_json, max_wait_s)
        except ServiceFailed:
            last_lines(directory / "logs", ["stack"])
            raise
    if as_json:
        print_json(records)
    else:
        _show(records, time.monotonic() - began)
    sys.exit(0 if all(record["right"] for record in records) else EXIT_FAILED)


@contextmanager
def _directory(chosen: Path | None) -> Iterator[Path]:
    if chosen is not None:
        yield chosen
        return
    with tempfile.TemporaryDirectory(prefix="stepmill-demo-") as name:
        yield Path(name)


def _plan(config: Settings, directory: Path) -> StackPlan:
    """Returns the plan of the demo's own stack, whatever database and Redis the environment names."""
    url = f"sqlite:///{(directory / 'stepmill.db').absolute()}"
    files = (directory / "files").absolute()
    files.mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        (files / name).write_text(text)
    plan = small_plan(config)
    env = {**plan.extra_env, "STEPMILL_FILES_DIRS": str(files)}
    return replace(plan, data_dir=directory, database_url=url, redis_url=None, extra_env=env)


def _introduce(plan: StackPlan) -> None:
    echo("Starting Redis, database, workers and API on this machine …")
    if plan.practice:
        echo(PRACTICE_NOTE, fg="yellow")


def _answered(client: Client, questions: list[JsonObject], quiet: bool, max_wait_s: float) -> list[JsonObject]:
    """Submits the questions, shows the progress, and returns a checked record for each."""
    expected = {question["custom_id"]: question.get("expected") for question in questions}
    submitted = client.post("/api/batches", {"runs": questions, "name": "demo"})
    give_up_at = time.monotonic() + max_wait_s

    def hopeless(_batch: JsonObject) -> bool:
        return time.monotonic() > give_up_at or any(one["needs_operator"] for one in _endpoints(client))

    watch(client, submitted["batch_id"], err=quiet, enough=hopeless)
    for one in _endpoints(client):
        if one["needs_operator"]:
            raise UserError(f"{one['model']} cannot be asked: {one['reason']}.", OPERATOR_HINT, EXIT_FAILED)
    records = list(client.pages("/api/runs", batch=submitted["batch_id"]))
    for record in records:
        wanted = expected[record["custom_id"]]
        succeeded = record["status"] == "succeeded"
        record["expected"] = wanted
        record["right"] = succeeded and (wanted is None or holds(record["answer"], wanted))
    return records


def _endpoints(client: Client) -> list[JsonObject]:
    items: list[JsonObject] = client.get("/api/models")["items"]
    return items


def _show(records: list[JsonObject], took_s: float) -> None:
    echo()
    columns = ("question", "answer", "steps", "tokens", "seconds", "checked")
    print_table(columns, [_row(record) for record in records], drawn=True)
    answered = sum(record["status"] == "succeeded" for record in records)
    checked = [record for record in records if record["expected"] is not None]
    right = sum(record["right"] for record in checked)
    steps = sum(record["steps"] for record in records)
    echo(
        f"{answered} of {len(records)} questions answered; {right} of {len(checked)} answers that can be checked are "
        f"right; {steps} steps; {took_s:.1f} s with starting and stopping."
    )
    if any(record["simulated"] for record in records):
        echo(PRACTICE_NOTE, fg="yellow")


def _row(record: JsonObject) -> tuple[object, ...]:
    answer = record["answer"] or (record["error"] or {}).get("message") or record["status"]
    mark = "no" if not record["right"] else ("right" if record["expected"] is not None else "–")
    seconds = seconds_taken(record)
    return (
        record["question"],
        answer,
        record["steps"],
        tokens(record["usage"]),
        "–" if seconds is None else f"{seconds:.1f}",
        mark,
    )
