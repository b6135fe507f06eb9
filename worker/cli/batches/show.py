"""`stepmill batch status`, `results` and `list`."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click

from worker.cli.batches.outcome import watch_to_the_end
from worker.cli.batches.whole import whole
from worker.cli.connection import connected, reading
from worker.cli.live import ended, reasons, state_of, summary
from worker.cli.output import json_option, money, note_practice, print_json, print_table, tokens
from worker.core.errors import UserError
from worker.core.records import JsonObject
from worker.terminal import echo, safe_json


@click.command("status")
@click.argument("batch_id")
@click.option("--watch", "watching", is_flag=True, help="Keep watching until all runs have ended.")
@click.option("--allow-failures", is_flag=True, help="With --watch: exit code 0 even if runs failed.")
@json_option
def status_command(batch_id: str, watching: bool, allow_failures: bool, as_json: bool) -> None:
    """Show a batch's progress: counts by state, rate, tokens, cost, waste, and what waits for what."""
    with connected() if watching else reading() as client:
        if watching:
            code, batch = watch_to_the_end(client, batch_id, as_json, allow_failures)
        else:
            code, batch = 0, client.get(f"/api/batches/{batch_id}")
    if as_json:
        print_json(batch)
    elif not watching:
        _tell(batch)
    sys.exit(code)


def _tell(batch: JsonObject) -> None:
    note_practice(bool(batch.get("simulated")))
    echo(summary(batch))
    for reason in reasons(batch):
        echo(f"  {reason}")
    scores = batch.get("scores")
    if scores and scores["scored"]:
        echo(f"  {scores['scored']:,} scored: exact match {scores['exact_match']:.1%}, F1 {scores['f1']:.3f}")


@click.command("list")
@click.option("--state", type=click.Choice(["open", "done", "cancelled"]), help="Only these.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1), help="At most so many.")
@json_option
def list_command(state: str | None, limit: int, as_json: bool) -> None:
    """List the batches, newest first."""
    with reading() as client:
        batches = list(client.pages("/api/batches", limit=limit, state=state))
    if as_json:
        print_json(batches)
        return
    columns = ("batch", "name", "state", "ended", "total", "failed", "tokens", "cost", "created")
    print_table(columns, [_row(batch) for batch in batches])


def _row(batch: JsonObject) -> tuple[object, ...]:
    return (
        batch["batch_id"],
        batch["name"],
        state_of(batch),
        ended(batch),
        batch["total"],
        batch["counts"]["failed"],
        tokens(batch["usage"]),
        money(batch["cost_usd"]),
        batch["created_at"],
    )


@click.command("results")
@click.argument("batch_id")
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "csv", "parquet"]), help="Default: the suffix of --output."
)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="A file; standard output by default.")
@click.option(
    "--only", metavar="STATE,…", help="Only runs in these states or with these error codes: failed, max_steps …"
)
@click.option("--with-steps", is_flag=True, help="Include each run's steps and calls.")
@click.option("--excel-safe", is_flag=True, help="In CSV, keep spreadsheets from reading an answer as a formula.")
def results_command(
    batch_id: str, form: str | None, output: Path | None, only: str | None, with_steps: bool, excel_safe: bool
) -> None:
    """Fetch the results so far, in input order, as JSONL, CSV or Parquet."""
    suffix = output.suffix.lower().removeprefix(".") if output else ""
    form = form or (suffix if suffix in ("csv", "parquet") else "jsonl")
    if form == "parquet" and output is None and sys.stdout.isatty():
        raise UserError("Parquet is not for a terminal.", "Name a file: --output results.parquet")
    path = f"/api/batches/{batch_id}/results"
    options = {"format": form, "only": only, "with_steps": with_steps, "excel_safe": excel_safe}
    with reading() as client, client.download(path, **options) as pieces:
        chunks = whole(pieces, form)
        if output is None:
            if sys.stdout.isatty():
                _show(chunks, form)
            else:
                _copy(chunks, sys.stdout.buffer)
        else:
            _write(chunks, output)
            echo(f"Written: {output} ({form.upper()})", err=True)


def _write(chunks: Iterator[bytes], output: Path) -> None:
    """Writes under another name until the file is complete, so that half a file is never mistaken for all of it."""
    if not output.parent.is_dir():
        raise UserError(f"There is no directory {output.parent}.", "Make it first, or name another file.")
    partial = output.with_name(output.name + ".partial")
    try:
        with partial.open("wb") as file:
            _copy(chunks, file)
        partial.replace(output)
    finally:
        partial.unlink(missing_ok=True)


def _show(chunks: Iterator[bytes], form: str) -> None:
    """Prints the results, made safe for a terminal; a pipe gets the bytes unchanged."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for chunk in chunks:
        text = decoder.decode(chunk)
        echo(safe_json(text) if form == "jsonl" else text, nl=False)


def _copy(chunks: Iterator[bytes], target: BinaryIO) -> None:
    for chunk in chunks:
        target.write(chunk)
    target.flush()
