"""`stepmill run`: everything about single runs."""

from __future__ import annotations

import click

from worker.cli.runs.approvals import answer_command, approve_command, refuse_command
from worker.cli.runs.control import cancel_command, pause_command, resume_command, retry_command
from worker.cli.runs.show import follow_command, list_command, show_command


@click.group("run")
def run_group() -> None:
    """Single runs: list, show with all steps, follow, cancel, pause, retry."""


for command in (
    list_command,
    show_command,
    follow_command,
    cancel_command,
    pause_command,
    resume_command,
    retry_command,
    approve_command,
    refuse_command,
    answer_command,
):
    run_group.add_command(command)
