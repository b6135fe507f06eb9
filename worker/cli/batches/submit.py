"""`stepmill batch submit`: submits a file of questions, and watches the batch with `--wait`."""

from __future__ import annotations

import sys
from typing import Any

import click

from worker.cli.batches.outcome import watch_to_the_end
from worker.cli.batches.upload import CONTENT_TYPES, chunks, format_of, format_option, opened, submission_key
from worker.cli.client import Client
from worker.cli.connection import connected, working, would_be_temporary
from worker.cli.options import run_options
from worker.cli.output import json_option, note_practice, print_json
from worker.core.fairness import MAX_WEIGHT, MIN_WEIGHT
from worker.core.records import JsonObject
from worker.terminal import echo

SHOWN_REFUSALS = 20


@click.command("submit")
@click.argument("file")
@click.option("--name", help="A name for the batch.")
@run_options
@click.option("--limit", type=click.IntRange(1, 1_000_000_000), help="Only the first N questions.")
@click.option("--skip-invalid", is_flag=True, help="Skip unreadable lines, and list them.")
@click.option("--template", help='For CSV: the question from columns, as in "Classify {title}".')
@click.option("--max-failures", metavar="N|P%", help="Pause the batch at this number or percentage of failures.")
@click.option(
    "--budget",
    "budget_usd",
    metavar="USD",
    type=click.FloatRange(0, 1e9, min_open=True),
    help="The most that all runs together may cost; the batch pauses before it exceeds that.",
)
@click.option(
    "--weight",
    type=click.FloatRange(MIN_WEIGHT, MAX_WEIGHT),
    help="Its share compared with other batches; 1 by default.",
)
@click.option("--new", is_flag=True, help="Create a new batch even if the same file was submitted before.")
@click.option("--wait", is_flag=True, help="Watch until all runs have ended.")
@click.option("--allow-failures", is_flag=True, help="With --wait: exit code 0 even if runs failed.")
@format_option
@json_option
def submit_command(
    file: str, form: str | None, new: bool, wait: bool, allow_failures: bool, as_json: bool, **options: Any
) -> None:
    """Submit a file of questions (JSONL, CSV or plain lines); `-` reads standard input.

    The same file with the same options is the same batch, unless --new: submitting it twice asks nothing twice.
    """
    temporary = wait and would_be_temporary()
    with working() if wait else connected() as client:
        answer = send(client, file, form, new=new, options=options)
        if not as_json:
            tell(answer)
        if not wait:
            if as_json:
                print_json(answer)
            return
        code, batch = watch_to_the_end(client, answer["batch_id"], as_json, allow_failures, temporary)
        if as_json:
            print_json({**answer, "batch": batch})
    sys.exit(code)


def send(client: Client, file: str, form: str | None, *, new: bool, options: JsonObject) -> JsonObject:
    """Uploads the file; the answer says which lines were accepted and which refused."""
    chosen = format_of(file, form)
    params = {name: value for name, value in options.items() if value not in (None, False)}
    if chosen == "tsv":
        params["delimiter"] = "\t"
    with opened(file) as stream:
        if not new:
            params["submission_key"] = submission_key(stream, {**params, "format": chosen})
        return client.upload("/api/batches", chunks(stream), CONTENT_TYPES[chosen], params)


def tell(answer: JsonObject) -> None:
    """Prints what was accepted, what was refused, and how to watch it."""
    note_practice(answer["simulated"])
    if answer["existing"]:
        echo(f"This was submitted before: it is batch {answer['batch_id']} (--new makes another).")
    else:
        echo(f"Batch {answer['batch_id']}: {answer['taken']:,} questions taken.")
    for refused in answer["refused"][:SHOWN_REFUSALS]:
        echo(f"Left out, line {refused['line']}: {refused['reason']}", fg="yellow", err=True)
    more = answer["refused_count"] - min(SHOWN_REFUSALS, len(answer["refused"]))
    if more > 0:
        echo(f"… and {more:,} more lines skipped.", fg="yellow", err=True)
    for note in answer.get("notes") or ():
        echo(note)
    echo(f"Watch:   {answer['watch']}")
    echo(f"Results: stepmill batch results {answer['batch_id']}")
