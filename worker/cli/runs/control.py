"""`stepmill run cancel`, `pause`, `resume`, `retry`."""

from __future__ import annotations

import click

from worker.cli.connection import connected
from worker.cli.output import json_option, print_json
from worker.terminal import echo

DONE = {"cancel": "cancelled", "pause": "paused", "resume": "continues", "retry": "is queued again"}


@click.command("cancel")
@click.argument("run_id")
@json_option
def cancel_command(run_id: str, as_json: bool) -> None:
    """Cancel a run; work in flight is stopped."""
    _act(run_id, "cancel", as_json)


@click.command("pause")
@click.argument("run_id")
@json_option
def pause_command(run_id: str, as_json: bool) -> None:
    """Pause a run: no new step starts."""
    _act(run_id, "pause", as_json)


@click.command("resume")
@click.argument("run_id")
@json_option
def resume_command(run_id: str, as_json: bool) -> None:
    """Resume a paused run."""
    _act(run_id, "resume", as_json)


@click.command("retry")
@click.argument("run_id")
@json_option
def retry_command(run_id: str, as_json: bool) -> None:
    """Queue a failed or cancelled run again."""
    _act(run_id, "retry", as_json)


def _act(run_id: str, verb: str, as_json: bool) -> None:
    with connected() as client:
        run = client.post(f"/api/runs/{run_id}/{verb}")
    if as_json:
        print_json(run)
    elif run["changed"]:
        echo(f"{run_id}: {DONE[verb]}.")
    else:
        echo(f"{run_id}: nothing to {verb}, it is {run['status']}.")
