"""`stepmill agents`: the agents, and the exact prompt that each sends."""

from __future__ import annotations

import json

import click

from tools.registry import load_tools
from worker.agents import load_agents
from worker.cli.output import json_option, note_practice, print_json, print_table
from worker.core.config import RunConfig
from worker.core.records import Message
from worker.dialects import dialect
from worker.dialects.prompt import messages, system_prompt
from worker.settings import settings
from worker.terminal import echo


@click.group("agents", invoke_without_command=True)
@json_option
@click.pass_context
def agents_group(ctx: click.Context, as_json: bool) -> None:
    """List the agents: the built-in ones, and those of STEPMILL_AGENTS_FILE."""
    if ctx.invoked_subcommand is not None:
        return
    agents = load_agents(settings())
    configs = [agents.configuration(name) for name in agents.agents]
    if as_json:
        print_json([config.body() for config in configs])
        return
    print_table(("agent", "model", "dialect", "steps", "tools"), [_row(config) for config in configs])
    note_practice(any(config.simulated for config in configs))


def _row(config: RunConfig) -> tuple[object, ...]:
    return config.name, config.model, config.dialect, config.max_steps, ", ".join(config.tools)


@agents_group.command("show")
@click.argument("name")
@click.option("--prompt", "whole_prompt", is_flag=True, help="Print what is sent to the model.")
@click.option("--question", default="…", help="With --prompt: the question in it.")
@json_option
def show_command(name: str, whole_prompt: bool, question: str, as_json: bool) -> None:
    """Show one agent: its settings, or with --prompt what a model is sent."""
    config = load_agents(settings()).configuration(name)
    if not whole_prompt:
        print_json(config.body())
        return
    sent = prompt_of(config, question)
    if as_json:
        print_json(sent)
        return
    for message in sent:
        echo(f"[{message['role']}]", bold=True)
        echo(message.get("content") or json.dumps(message.get("tool_calls"), ensure_ascii=False))


def prompt_of(config: RunConfig, question: str) -> list[Message]:
    """Returns the conversation of a first step."""
    tools = load_tools(settings().tool_modules).known(config.tools)
    examples = [given.example() for given in config.examples]
    spoken = dialect(config.dialect)
    return messages(spoken, system_prompt(spoken, tools, config.instructions), examples, question, ())
