"""`stepmill agents`: who can be asked, and the very prompt that each sends."""

from __future__ import annotations

import json
from typing import Any

import click

from tools.registry import load_tools
from worker.agents import load_agents
from worker.cli.output import json_option, note_practice, print_json, print_table
from worker.core.records import Example, JsonObject, Message, Observed, Turn
from worker.dialects import dialect
from worker.dialects.prompt import messages, system_prompt
from worker.settings import settings
from worker.terminal import echo


@click.group("agents", invoke_without_command=True)
@json_option
@click.pass_context
def agents_group(ctx: click.Context, as_json: bool) -> None:
    """The agents that can be asked: the built-in ones, and those of STEPMILL_AGENTS_FILE."""
    if ctx.invoked_subcommand is not None:
        return
    agents = load_agents(settings())
    bodies = [agents.configuration(name) for name in agents.agents]
    if as_json:
        print_json(bodies)
        return
    print_table(("agent", "model", "dialect", "steps", "tools"), [_row(body) for body in bodies])
    note_practice(any(body["simulated"] for body in bodies))


def _row(body: JsonObject) -> tuple[object, ...]:
    return body["name"], body["model"], body["dialect"], body["max_steps"], ", ".join(body["tools"])


@agents_group.command("show")
@click.argument("name")
@click.option("--prompt", "whole_prompt", is_flag=True, help="Print what is sent to the model.")
@click.option("--question", default="…", help="With --prompt: the question in it.")
@json_option
def show_command(name: str, whole_prompt: bool, question: str, as_json: bool) -> None:
    """One agent: its settings, or with --prompt what a model is sent."""
    body = load_agents(settings()).configuration(name)
    if not whole_prompt:
        print_json(body)
        return
    sent = prompt_of(body, question)
    if as_json:
        print_json(sent)
        return
    for message in sent:
        echo(f"[{message['role']}]", bold=True)
        echo(message.get("content") or json.dumps(message.get("tool_calls"), ensure_ascii=False))


def prompt_of(body: JsonObject, question: str) -> list[Message]:
    """The conversation of a first step."""
    tools = load_tools(settings().tool_modules).known(body["tools"])
    examples = [_example(given) for given in body["examples"]]
    spoken = dialect(body["dialect"])
    return messages(spoken, system_prompt(spoken, tools, body["instructions"]), examples, question, ())


def _example(given: dict[str, Any]) -> Example:
    turns = tuple(
        Turn(call["thought"], (Observed(call["tool"], call["args"], call["observation"]),)) for call in given["calls"]
    )
    return Example(given["question"], turns, given["answer"], given.get("thought", ""))
