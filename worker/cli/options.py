"""Options shared by several commands: agent, model, dialect, number of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
RUN_OPTIONS = (
    click.option("--agent", help="Which agent answers; `stepmill agents` lists them."),
    click.option("--model", help="A model to use instead of the agent's."),
    click.option("--dialect", help="How the model is asked to write actions and answers."),
    click.option("--max-steps", type=click.IntRange(1, 1000), help="Most steps a run may take."),
)


def run_options(command: F) -> F:
    """Adds the options in `RUN_OPTIONS`, in their order."""
    for option in reversed(RUN_OPTIONS):
        command = option(command)
    return command
