"""Entry point of `stepmill`. Knows all commands by name and imports each only when used, so that help is fast."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

import click

from worker.cli.errors import Refusal, refusal
from worker.terminal import echo, safe

EXIT_INTERRUPTED = 130

COMMANDS: Mapping[str, tuple[str, str]] = {
    "up": ("stack:up_command", "Start the whole stack on this machine."),
    "down": ("stack:down_command", "Stop the stack that runs in this directory."),
    "ask": ("ask:ask_command", "Ask one question and watch how it is answered."),
    "batch": ("batches:batch_group", "Many questions: submit, watch, results, pause, retry."),
    "run": ("runs:run_group", "Single runs: list, show, follow, cancel, pause, retry."),
    "worker": ("worker:worker_command", "Run a worker for these queues."),
    "serve": ("stack:serve_command", "Serve the API."),
    "tools": ("tools:tools_group", "The tools that are registered; call one by hand."),
    "agents": ("agents:agents_group", "The agents that can be asked, and their prompts."),
    "models": ("models:models_group", "Model endpoints: list, pause, resume."),
    "usage": ("usage:usage_command", "Daily usage: calls, tokens, cost, waste."),
    "db": ("db:db_group", "Bring the database to this version, or check it."),
    "parse": ("parse:parse_command", "Parse a model's reply and print the outcome."),
    "simulate": ("simulate:simulate_command", "Serve the practice model, which needs no key."),
    "doctor": ("doctor:doctor_command", "Find what is wrong, and say how to fix it."),
    "demo": ("demo:demo_command", "Answer a file of questions end to end, and check the answers."),
}
"""Each command's location below `worker.cli`, and its line in the help."""


class LazyGroup(click.Group):
    """Imports each command at its first use. Turns errors into one sentence and one hint."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(f"worker.cli.{module}"), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            vars(error)["message"] = safe(error.message)  # click declares it final
            raise
        except click.exceptions.Exit:
            raise
        except (KeyboardInterrupt, click.Abort):
            echo("Interrupted.", err=True)
            ctx.exit(EXIT_INTERRUPTED)
        except BrokenPipeError:
            # The reader of the pipe has closed it; discard what is still buffered.
            sys.stdout = None
            ctx.exit(0)
        except Exception as error:
            raise refusal(error) from error


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="stepmill", message="stepmill %(version)s")
def cli() -> None:
    """Answers many questions with tool-using LLM agents, reliably, on many machines.

    Begin with `stepmill ask "What is (15 + 7) * 3?"`: without any settings, a practice model answers.
    """


def main() -> None:
    """Runs the command line and exits with its exit code."""
    try:
        cli(prog_name="stepmill")
    except Refusal as refused:  # raised while the command was being imported
        refused.show()
        sys.exit(refused.exit_code)


if __name__ == "__main__":
    main()
