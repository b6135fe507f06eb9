"""`stepmill run list`, `show` and `follow`."""

from __future__ import annotations

import sys
from typing import Any

import click

from worker.cli.ask import follow
from worker.cli.connection import connected, flower_url, reading
from worker.cli.errors import EXIT_FAILED
from worker.cli.narrator import say, tell_result, written
from worker.cli.output import json_option, note_practice, print_json, print_table
from worker.core.records import JsonObject
from worker.settings import settings
from worker.terminal import echo

ENDED = ("succeeded", "failed", "cancelled")
SHOWN_CHARS = 60


@click.command("list")
@click.option("--batch", help="Only runs of this batch, in input order.")
@click.option("--state", type=click.Choice(["queued", "active", *ENDED]), help="Only these.")
@click.option("--error", metavar="CODE", help="Only runs with this error code.")
@click.option("--custom-id", help="Only the run with this custom_id.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1), help="At most so many.")
@json_option
def list_command(limit: int, as_json: bool, **chosen: Any) -> None:
    """List the runs, newest first."""
    with reading() as client:
        runs = list(client.pages("/api/runs", limit=limit, **chosen))
    if as_json:
        print_json(runs)
        return
    print_table(("run", "state", "steps", "question", "answer"), [_row(run) for run in runs])


def _row(run: JsonObject) -> tuple[object, ...]:
    error = run["error"] or {}
    said = run["answer"] or error.get("message") or ""
    return run["run_id"], run["status"], run["steps"], _short(run["question"]), _short(said)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHOWN_CHARS or not sys.stdout.isatty() else text[: SHOWN_CHARS - 1] + "…"


@click.command("show")
@click.argument("run_id")
@json_option
def show_command(run_id: str, as_json: bool) -> None:
    """Show one run with its steps, calls and attempts."""
    with reading() as client:
        run = client.get(f"/api/runs/{run_id}")
        kept = client.get(f"/api/runs/{run_id}/artifacts")["items"]
        files = [item | {"href": client.url + item["href"]} for item in kept]
    if as_json:
        print_json(run | {"artifacts": files})
        return
    note_practice(run["simulated"])
    say("Question", run["question"], "bright_blue")
    flower = flower_url(settings())
    for step in run["trace"]:
        _tell_step(step, flower)
    for item in files:
        say("File", f"{item['name']} ({item['media_type']}, {item['size']:,} bytes): {item['href']}", "green")
    for attempt in run["attempts_log"]:
        if attempt["outcome"] not in (None, "ok"):
            _tell_attempt(attempt)
    if run["status"] in ENDED:
        tell_result(run)
    else:
        say("State", _state(run), "yellow")


def _task(task_id: str | None, flower: str | None) -> str:
    """Returns the task's URL in Flower, or its id if Flower's address is unknown."""
    if task_id is None:
        return "–"
    return f"{flower}/task/{task_id}" if flower else f"task {task_id}"


def _tell_step(step: JsonObject, flower: str | None) -> None:
    echo(f"Step {step['step']}  {_task(step.get('task_id'), flower)}", dim=True)
    if step.get("thought"):
        say("Thought", step["thought"], "cyan")
    if step["kind"] == "malformed" and step.get("reply"):
        say("Reply", step["reply"], "red")
    for call in step["calls"]:
        say("Action", f"{call['tool']} {written(call['args'])}", "magenta")
        echo(f"{'':13}{_task(call.get('task_id'), flower)}", dim=True)
        if call.get("observation") is not None:
            say("Observation", call["observation"], "green" if call["outcome"] in (None, "ok") else "red")
        else:
            say("Call", f"{call['state']} on {call['queue']}, attempt {call['attempt']}", "yellow")
    if step.get("notice"):
        say("Notice", step["notice"], "yellow")


def _tell_attempt(attempt: JsonObject) -> None:
    where = f"step {attempt['step']}" + (f" call {attempt['call']}" if attempt["call"] else "")
    why = attempt.get("error") or ""
    say("Attempt", f"{where}, attempt {attempt['attempt']}: {attempt['outcome']} {why}".rstrip(), "red")


def _state(run: JsonObject) -> str:
    parts = [run["status"], run.get("phase"), "paused" if run.get("paused") else None, run.get("waiting")]
    return ", ".join(str(part) for part in parts if part)


@click.command("follow")
@click.argument("run_id")
@json_option
def follow_command(run_id: str, as_json: bool) -> None:
    """Follow a run from its beginning to its end. Ctrl-C only stops watching."""
    with connected() as client:
        run = client.get(f"/api/runs/{run_id}")
        note_practice(run["simulated"])
        result = follow(client, run_id, quiet=as_json)
    if as_json:
        print_json(result)
    sys.exit(0 if result["status"] == "succeeded" else EXIT_FAILED)
