"""`stepmill batch cancel`, `pause`, `resume`, `retry`."""

from __future__ import annotations

from typing import Any

import click

from worker.cli.connection import connected
from worker.cli.live import summary
from worker.cli.output import json_option, print_json
from worker.core.records import JsonObject
from worker.terminal import echo


@click.command("cancel")
@click.argument("batch_id")
@json_option
def cancel_command(batch_id: str, as_json: bool) -> None:
    """Cancel a batch; work in flight is stopped."""
    _act(batch_id, "cancel", as_json)


@click.command("pause")
@click.argument("batch_id")
@json_option
def pause_command(batch_id: str, as_json: bool) -> None:
    """Pause a batch: no new step starts; work in flight may finish."""
    _act(batch_id, "pause", as_json)


@click.command("resume")
@click.argument("batch_id")
@click.option(
    "--budget",
    "budget_usd",
    metavar="USD",
    type=click.FloatRange(0, 1e9, min_open=True),
    help="The new, higher budget of the batch.",
)
@json_option
def resume_command(batch_id: str, budget_usd: float | None, as_json: bool) -> None:
    """Resume a paused batch."""
    _act(batch_id, "resume", as_json, budget_usd=budget_usd)


def _act(batch_id: str, verb: str, as_json: bool, **options: Any) -> None:
    with connected() as client:
        batch = client.post(f"/api/batches/{batch_id}/{verb}", **options)
    _tell(batch, as_json, "" if batch.get("changed", True) else f"Nothing to {verb}: ")


@click.command("retry")
@click.argument("batch_id")
@click.option("--code", "codes", multiple=True, metavar="CODE", help="Only runs with this error code; may be repeated.")
@json_option
def retry_command(batch_id: str, codes: tuple[str, ...], as_json: bool) -> None:
    """Queue the failed runs of a batch again (`--code cancelled`: the cancelled ones)."""
    wanted = ",".join(part.strip() for code in codes for part in code.split(",") if part.strip())
    with connected() as client:
        batch = client.post(f"/api/batches/{batch_id}/retry", codes=wanted)
    _tell(batch, as_json, f"{batch['retried']:,} runs are queued again. ")
    cancelled = batch["counts"]["cancelled"]
    if not batch["retried"] and cancelled and not codes and not as_json:
        echo(f"`--code cancelled` takes the {cancelled:,} that were cancelled.", err=True)


def _tell(batch: JsonObject, as_json: bool, before: str) -> None:
    if as_json:
        print_json(batch)
    else:
        echo(before + summary(batch))
