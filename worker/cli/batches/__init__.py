"""`stepmill batch`: everything about many questions."""

from __future__ import annotations

import click

from worker.cli.batches.control import cancel_command, pause_command, resume_command, retry_command
from worker.cli.batches.estimate import estimate_command
from worker.cli.batches.show import list_command, results_command, status_command
from worker.cli.batches.submit import submit_command


@click.group("batch")
def batch_group() -> None:
    """Many questions: submit a file, watch, fetch the results, pause, retry."""


for command in (
    submit_command,
    status_command,
    results_command,
    list_command,
    cancel_command,
    pause_command,
    resume_command,
    retry_command,
    estimate_command,
):
    batch_group.add_command(command)
