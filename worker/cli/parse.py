"""`stepmill parse`: shows how replies are parsed: one from standard input, or many as JSON lines."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

import click

from tools.registry import load_tools
from worker.core.records import Actions, Answer, JsonObject, Malformed, Parsed, Reply, ToolRequest, ToolView
from worker.dialects import DIALECTS, UnknownDialect, dialect
from worker.llm.error_text import is_error_text
from worker.terminal import echo, safe_json

ERROR_AS_REPLY = "The endpoint sent an error where the reply belongs; a worker repeats such a call."
_STANDARD_TEXT = {
    "web_search": "query",
    "sql_query": "query",
    "python_executor": "code",
}


@dataclass(frozen=True, slots=True)
class BareTool:
    """Stands for a tool that is not registered here; accepts any arguments, or plain text."""

    name: str
    description: str = ""
    text_parameter: str | None = "input"
    code_language: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})


class WrongLine(click.ClickException):
    """A line that is not a valid request; the lines after it are not read."""

    exit_code = 2


@click.command("parse")
@click.option("--dialect", "dialect_name", metavar="D", help=f"One of {', '.join(DIALECTS)}.")
@click.option("--tools", "tool_names", metavar="a,b", default="", help="The tools that the reply may use.")
@click.option(
    "--jsonl", is_flag=True, help='Read lines {"dialect", "output", "tools", "finish_reason"}, write a line for each.'
)
def parse_command(dialect_name: str | None, tool_names: str, jsonl: bool) -> None:
    """Parse a model's reply from standard input and print the outcome as JSON.

    The outcome has what was parsed (kind, tool, args, answer, thought), what was dropped, and why a reply is malformed.
    For the dialect native the reply is the assistant message as JSON.
    """
    views = known_tools()
    names = [name.strip() for name in tool_names.split(",") if name.strip()]
    stdin = _standard_input()
    if jsonl:
        for outcome in outcomes(stdin, dialect_name, names, views):
            _print(outcome)
        return
    if dialect_name is None:
        raise click.UsageError(f"Say which dialect: --dialect {'|'.join(DIALECTS)}")
    outcome = explain(_known_dialect(dialect_name), stdin.read(), names, views)
    echo(safe_json(json.dumps(outcome, ensure_ascii=False, indent=2)))


def _standard_input() -> TextIO:
    """Returns standard input as UTF-8 with line ends unchanged, whatever the terminal's settings."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace", newline="")
    return sys.stdin


def known_tools() -> dict[str, ToolView]:
    """Returns the registered tools, and a `BareTool` for each standard name that is not registered."""
    views: dict[str, ToolView] = {name: _standard(name, parameter) for name, parameter in _STANDARD_TEXT.items()}
    views.update(load_tools().tools)
    return views


def _standard(name: str, parameter: str) -> BareTool:
    schema = {"type": "object", "properties": {parameter: {"type": "string"}}, "required": [parameter]}
    return BareTool(name, "", parameter, "python" if parameter == "code" else None, schema)


def outcomes(
    lines: TextIO, dialect_name: str | None, names: Sequence[str], views: Mapping[str, ToolView]
) -> Iterator[JsonObject]:
    """Yields one outcome for each line that is not blank. Raises WrongLine with the line's number."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        request = _request(line, number)
        wanted = request.get("tools", list(names))
        if not isinstance(wanted, list) or not all(isinstance(name, str) for name in wanted):
            raise WrongLine(f'Line {number}: "tools" must be a list of names.')
        if "output" not in request:
            raise WrongLine(f'Line {number}: "output" is missing.')
        chosen = request.get("dialect", dialect_name)
        try:
            known = _known_dialect(str(chosen))
        except click.UsageError as error:
            raise WrongLine(f"Line {number}: {error.message}") from error
        yield explain(known, request["output"], wanted, views, request.get("finish_reason"))


def explain(
    dialect_name: str, output: Any, names: Sequence[str], views: Mapping[str, ToolView], finish_reason: Any = None
) -> JsonObject:
    """Returns how a reply is parsed, as the command prints it."""
    tools = [views.get(name) or BareTool(name) for name in names]
    reply = _reply(dialect_name, output, None if finish_reason is None else str(finish_reason))
    if not reply.message.get("tool_calls") and is_error_text(reply.text):
        return _outcome(Malformed(ERROR_AS_REPLY, kept="", thought=reply.text))
    return _outcome(dialect(dialect_name).parse(reply, tools))


def _known_dialect(name: str) -> str:
    try:
        return dialect(name).name
    except UnknownDialect as error:
        raise click.UsageError(str(error)) from error


def _request(line: str, number: int) -> JsonObject:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise WrongLine(f"Line {number} is not valid JSON: {error}.") from error
    if not isinstance(request, dict):
        raise WrongLine(f"Line {number} is not a JSON object.")
    return request


def _reply(dialect_name: str, output: Any, finish_reason: str | None) -> Reply:
    if dialect_name != "native":
        text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        return Reply(text, finish_reason)
    message, reason = _message(output)
    content = message.get("content")
    return Reply(
        content if isinstance(content, str) else "", reason if reason == "error" else finish_reason or reason, message
    )


def _message(output: Any) -> tuple[JsonObject, str | None]:
    """Returns the assistant message and finish reason from a message, a choice, a whole response, or plain text.

    An error next to the message means that the reply broke off, whatever its finish reason says.
    """
    value = output
    if isinstance(output, str):
        try:
            value = json.loads(output)
        except (ValueError, RecursionError):
            return {"role": "assistant", "content": output}, None
    failed = isinstance(value, dict) and bool(value.get("error"))
    if isinstance(value, dict) and isinstance(value.get("choices"), list) and value["choices"]:
        value = value["choices"][0]
    if isinstance(value, dict) and isinstance(value.get("message"), dict):
        reason = "error" if failed or value.get("error") else value.get("finish_reason")
        return value["message"], None if reason is None else str(reason)
    if isinstance(value, dict) and ({"role", "content", "tool_calls", "function_call"} & set(value)):
        return value, "error" if failed else None
    return {"role": "assistant", "content": output if isinstance(output, str) else json.dumps(output)}, None


def _outcome(parsed: Parsed) -> JsonObject:
    outcome: JsonObject = {"kind": "malformed", "tool": None, "args": None, "answer": None}
    if isinstance(parsed, Actions):
        first = parsed.calls[0]
        outcome |= {"kind": "action", "tool": first.tool, "args": first.args}
        if len(parsed.calls) > 1:
            outcome["calls"] = [_call(call) for call in parsed.calls]
    elif isinstance(parsed, Answer):
        outcome |= {"kind": "answer", "answer": parsed.text}
    reason = parsed.reason if not isinstance(parsed, (Actions, Answer)) else None
    return {**outcome, "thought": parsed.thought, "reason": reason, "dropped": list(parsed.dropped)}


def _call(call: ToolRequest) -> JsonObject:
    return {"tool": call.tool, "args": call.args, "id": call.call_id}


def _print(outcome: JsonObject) -> None:
    echo(safe_json(json.dumps(outcome, ensure_ascii=False)))
    sys.stdout.flush()
