"""`stepmill doctor`: checks for common problems, and says how to fix them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict

import click

from worker.cli.connection import join_running_stack
from worker.cli.doctoring import configuration, database, fleet, machine, model, redis
from worker.cli.doctoring.finding import Check, Finding, Level, Patient
from worker.cli.errors import EXIT_FAILED, EXIT_UNREACHABLE, one_line
from worker.cli.output import json_option, print_json
from worker.settings import settings
from worker.terminal import echo

CHECKS: tuple[Check, ...] = (
    machine.data_dir,
    machine.ports,
    machine.isolation,
    configuration.tools,
    configuration.agents,
    configuration.prices,
    redis.redis,
    database.database,
    fleet.workers,
    fleet.addresses,
    model.models,
)

MARKS = {
    Level.OK: ("ok", "green"),
    Level.WARNING: ("note", "yellow"),
    Level.FAULT: ("WRONG", "red"),
    Level.UNREACHABLE: ("AWAY", "red"),
}


@click.command("doctor")
@json_option
def doctor_command(as_json: bool) -> None:
    """Find what is wrong, and say how to fix it.

    Exit code 0 when nothing is wrong, 1 when something is, 3 when a service cannot be reached.
    """
    stack = join_running_stack()
    findings = list(examine(Patient(settings(), stack)))
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            _tell(finding)
        wrong = sum(finding.level in (Level.FAULT, Level.UNREACHABLE) for finding in findings)
        echo(f"\n{wrong} wrong." if wrong else "\nNothing is wrong.")
    sys.exit(exit_code(findings))


def examine(patient: Patient) -> Iterator[Finding]:
    """Runs every check in turn. A check that raises becomes a finding, so that `doctor` itself never fails."""
    for check in CHECKS:
        try:
            yield from check(patient)
        except Exception as error:
            name = getattr(check, "__name__", "check")
            message = f"The check could not be made: {type(error).__name__}: {one_line(error)}"
            yield Finding(name, message, Level.FAULT, "check_failed", "This is a bug in stepmill; please report it.")


def exit_code(findings: list[Finding]) -> int:
    levels = {finding.level for finding in findings}
    if Level.UNREACHABLE in levels:
        return EXIT_UNREACHABLE
    return EXIT_FAILED if Level.FAULT in levels else 0


def _tell(finding: Finding) -> None:
    mark, colour = MARKS[finding.level]
    echo(f"  {finding.about}: {finding.message}", label=mark.ljust(5), fg=colour)
    if finding.remedy:
        echo(f"       → {finding.remedy}")
