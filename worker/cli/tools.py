"""`stepmill tools`: what is registered here, and a call by hand."""

from __future__ import annotations

import json
import sys

import click

from tools.base import Tool
from tools.registry import Registry, load_tools
from worker.cli.calling import call_by_hand
from worker.cli.output import json_option, print_json, print_table
from worker.core.errors import UserError
from worker.core.records import JsonObject
from worker.settings import settings
from worker.terminal import echo


@click.group("tools", invoke_without_command=True)
@json_option
@click.pass_context
def tools_group(ctx: click.Context, as_json: bool) -> None:
    """List the tools registered here, with their schemas, queues and limits."""
    if ctx.invoked_subcommand is not None:
        return
    registry = load_tools(settings().tool_modules)
    if as_json:
        problems = [{"module": problem.module, "reason": problem.reason} for problem in registry.problems]
        print_json({"items": [described(tool) for tool in registry.tools.values()], "problems": problems})
        return
    columns = ("tool", "queue", "limit", "repeatable", "what it does")
    print_table(columns, [_row(tool) for tool in registry.tools.values()])
    for problem in registry.problems:
        echo(f"Refused: {problem.module}: {problem.reason}", fg="red", err=True)


def described(tool: Tool) -> JsonObject:
    """Returns a tool as JSON."""
    return {
        "name": tool.name,
        "description": tool.description,
        "group": tool.group,
        "queue": tool.queue,
        "parameters": dict(tool.parameters),
        "idempotent": tool.idempotent,
        "timeout_s": tool.timeout_s,
        "max_attempts": tool.max_attempts,
        "concurrency": tool.concurrency,
        "cache_s": tool.cache_s,
        "origin": tool.origin,
    }


def _row(tool: Tool) -> tuple[object, ...]:
    first_line = tool.description.strip().splitlines()[0]
    return tool.name, tool.queue, f"{tool.timeout_s:g} s", "yes" if tool.idempotent else "no", first_line


@tools_group.command("show")
@click.argument("name")
def show_command(name: str) -> None:
    """Show one tool with the JSON schema of its arguments."""
    print_json(described(_tool(load_tools(settings().tool_modules), name)))


@tools_group.command("call")
@click.argument("name")
@click.option("--args", "text", default="{}", metavar="JSON", help="The arguments as a JSON object, or plain text.")
def call_command(name: str, text: str) -> None:
    """Run a tool here, within its time limit, and print what a model would read."""
    sys.exit(call_by_hand(_tool(load_tools(settings().tool_modules), name), _arguments(text)))


def _tool(registry: Registry, name: str) -> Tool:
    if name not in registry.tools:
        raise UserError(f"There is no tool {name!r}.", f"Known tools: {', '.join(sorted(registry.tools))}.")
    return registry.tools[name]


def _arguments(text: str) -> JsonObject | str:
    """Returns an object, or the text unchanged, as a model may give it."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text
