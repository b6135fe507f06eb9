"""`stepmill batch estimate`: runs a few lines, and estimates cost and time for all of them."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

import click

from worker.cli.batches.outcome import come_back, exit_code
from worker.cli.batches.submit import send
from worker.cli.batches.upload import chunks, format_of, format_option, opened
from worker.cli.connection import working
from worker.cli.live import watch
from worker.cli.options import run_options
from worker.cli.output import duration, json_option, money, note_practice, print_json, tokens
from worker.core.errors import UserError
from worker.core.records import JsonObject
from worker.questions import Question, Reader, Rules, Template
from worker.settings import settings
from worker.terminal import echo

READERS = {"tsv": "csv"}


@dataclass(frozen=True, slots=True)
class Estimate:
    """What all questions would take, judging by the canary. `seconds_at_most` assumes the canary's pace."""

    questions: int
    canary: int
    tokens: int
    cost_usd: float | None
    seconds_at_most: float
    failed_share: float


@click.command("estimate")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--canary", default=5, show_default=True, type=click.IntRange(1, 1000), help="How many lines to run.")
@click.option("--template", help='For CSV: the question from columns, as in "Classify {title}".')
@run_options
@format_option
@json_option
def estimate_command(
    file: str, canary: int, template: str | None, form: str | None, as_json: bool, **options: Any
) -> None:
    """Run the first few lines of a file, and say what all of it would cost and how long it would take.

    These first lines are a batch of their own; submitting the file afterwards asks them again.
    """
    questions = count_questions(file, form, template)
    options |= {"limit": canary, "template": template, "name": f"canary of {file}"}
    with working() as client:
        began = time.monotonic()
        submitted = send(client, file, form, new=True, options=options)
        try:
            batch = watch(client, submitted["batch_id"], err=True)
        except KeyboardInterrupt:
            come_back(submitted["batch_id"], temporary=False)
            raise
    estimate = extrapolate(batch, questions, time.monotonic() - began)
    _tell(estimate, batch, as_json)
    sys.exit(exit_code(batch, allow_failures=True))


def count_questions(file: str, form: str | None, template: str | None) -> int:
    """Counts the questions of a file without keeping them. Raises `UserError` if there are none."""
    chosen = format_of(file, form)
    rules = Rules(settings().max_question_bytes, Template(template) if template else None)
    with opened(file) as stream:
        reader = Reader(rules, "\t" if chosen == "tsv" else None)
        count = sum(isinstance(one, Question) for one in reader.read(chunks(stream), READERS.get(chosen, chosen)))
    if not count:
        raise UserError(f"{file} holds no question.")
    return count


def extrapolate(batch: JsonObject, questions: int, took_s: float) -> Estimate:
    """Extrapolates from the canary to the whole file."""
    ended = max(1, batch["counts"]["succeeded"] + batch["counts"]["failed"])
    factor = questions / ended
    cost = batch["cost_usd"]
    return Estimate(
        questions=questions,
        canary=ended,
        tokens=round(tokens(batch["usage"]) * factor),
        cost_usd=None if cost is None else cost * factor,
        seconds_at_most=took_s * factor,
        failed_share=batch["counts"]["failed"] / ended,
    )


def _tell(estimate: Estimate, batch: JsonObject, as_json: bool) -> None:
    note_practice(bool(batch.get("simulated")))
    if as_json:
        names = Estimate.__slots__
        print_json({**{name: getattr(estimate, name) for name in names}, "canary_batch_id": batch["batch_id"]})
        return
    echo(f"{estimate.questions:,} questions, by {estimate.canary:,} that were run ({batch['batch_id']}):")
    echo(f"  about {estimate.tokens:,} tokens, {money(estimate.cost_usd)}")
    echo(f"  at most {duration(estimate.seconds_at_most)}; more at once go faster")
    if estimate.failed_share:
        echo(f"  {estimate.failed_share:.0%} failed: see `stepmill batch status {batch['batch_id']}`")
