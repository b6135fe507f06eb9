"""`stepmill ask`: asks one question and prints how it is answered."""

from __future__ import annotations

import sys
from typing import Any

import click

from worker.cli.client import Client
from worker.cli.connection import working
from worker.cli.errors import EXIT_FAILED, EXIT_UNREACHABLE
from worker.cli.narrator import Narrator
from worker.cli.options import run_options
from worker.cli.output import json_option, note_practice, print_json
from worker.core.errors import UserError
from worker.core.records import JsonObject

OPERATOR_HINT = (
    "Mend it and ask again; `stepmill models` shows the state of each endpoint, `stepmill doctor` looks why."
)


@click.command("ask")
@click.argument("question")
@run_options
@json_option
def ask_command(question: str, as_json: bool, **options: Any) -> None:
    """Ask one question and watch how it is answered; `-` reads the question from standard input.

    If no stack is running, one is started for the command. Exit code 0 if there is an answer, 1 if not.
    """
    text = (sys.stdin.buffer.read().decode() if question == "-" else question).strip()
    if not text:
        raise UserError("The question is empty.", 'Example: stepmill ask "What is (15 + 7) * 3?"')
    with working() as client:
        result = _ask(client, {"question": text, **given(options)}, quiet=as_json)
    if as_json:
        print_json(result)
    sys.exit(0 if result["status"] == "succeeded" else EXIT_FAILED)


def given(options: dict[str, Any]) -> JsonObject:
    """Returns the options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def _ask(client: Client, body: JsonObject, *, quiet: bool) -> JsonObject:
    submitted = client.post("/api/runs", {**body, "klass": "interactive"})
    note_practice(submitted["simulated"])
    run_id = submitted["run_id"]
    try:
        return follow(client, run_id, quiet=quiet, give_up_on_operator_errors=True)
    except KeyboardInterrupt:
        client.post(f"/api/runs/{run_id}/cancel")
        raise


def follow(client: Client, run_id: str, *, quiet: bool, give_up_on_operator_errors: bool = False) -> JsonObject:
    """Prints a run until its end and returns its record. Cancels and reports a run that only a person can unblock."""
    narrator = Narrator()
    result: JsonObject | None = None
    for event in client.events(run_id):
        if event.kind == "end":
            result = event.data
        if event.kind == "status" and event.data.get("needs_operator") and give_up_on_operator_errors:
            client.post(f"/api/runs/{run_id}/cancel")
            raise UserError(str(event.data["waiting"]), OPERATOR_HINT, EXIT_FAILED)
        if not quiet:
            narrator.tell(event)
    if result is None:
        result = client.get(f"/api/runs/{run_id}")
    if result["status"] not in ("succeeded", "failed", "cancelled"):
        message = f"The events of {run_id} ended before the run did."
        raise UserError(message, f"`stepmill run follow {run_id}` takes them up again.", EXIT_UNREACHABLE)
    return result
