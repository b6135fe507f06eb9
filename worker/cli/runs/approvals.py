"""`stepmill run approve`, `refuse`, `answer`: what a person says to a run that waits for one."""

from __future__ import annotations

from typing import Any

import click

from worker.cli.connection import connected
from worker.cli.output import json_option, print_json
from worker.core.records import JsonObject
from worker.terminal import echo

step_option = click.option("--step", type=click.IntRange(1), help="Which step, if several calls wait.")
call_option = click.option("--call", type=click.IntRange(1), help="Which call of the step.")


@click.command("approve")
@click.argument("run_id")
@step_option
@call_option
@json_option
def approve_command(run_id: str, step: int | None, call: int | None, as_json: bool) -> None:
    """Approve a call that waits for approval: it may start."""
    _say(run_id, "approve", {"step": step, "call": call}, "approved", as_json)


@click.command("refuse")
@click.argument("run_id")
@click.option("--reason", help="The reason, which the model reads.")
@step_option
@call_option
@json_option
def refuse_command(run_id: str, reason: str | None, step: int | None, call: int | None, as_json: bool) -> None:
    """Refuse a call that waits for approval; the run continues without it."""
    _say(run_id, "refuse", {"step": step, "call": call, "reason": reason}, "refused", as_json)


@click.command("answer")
@click.argument("run_id")
@click.argument("text")
@step_option
@call_option
@json_option
def answer_command(run_id: str, text: str, step: int | None, call: int | None, as_json: bool) -> None:
    """Answer a run that asked a person."""
    _say(run_id, "answer", {"step": step, "call": call, "text": text}, "answered", as_json)


def _say(run_id: str, verb: str, body: dict[str, Any], done: str, as_json: bool) -> None:
    given: JsonObject = {name: value for name, value in body.items() if value is not None}
    with connected() as client:
        said = client.post(f"/api/runs/{run_id}/{verb}", given)
    if as_json:
        print_json(said)
    else:
        call = said[done]
        echo(f"{run_id}: the call of {call['tool']} in step {call['step']} is {done}.")
