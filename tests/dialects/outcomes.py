"""Short ways to write down how a reply should be read, and the tools that replies are read with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from worker.cli.parse import BareTool
from worker.core.records import Actions, Answer, Malformed, Parsed, Reply, ToolRequest, ToolView
from worker.dialects import dialect
from worker.dialects.parsing.binding import bind


def text_tool(name: str, parameter: str, *, needed: bool = True, code: bool = False, **others: str) -> BareTool:
    """A tool with one text parameter, and others of the given types."""
    properties = {parameter: {"type": "string"}, **{other: {"type": kind} for other, kind in others.items()}}
    schema = {"type": "object", "properties": properties, "required": [parameter] if needed else []}
    return BareTool(name, f"Does {name}.", parameter, "python" if code else None, schema)


TOOLS: dict[str, ToolView] = {
    tool.name: tool
    for tool in (
        text_tool("calculator", "expression"),
        text_tool("web_search", "query", max_results="integer"),
        text_tool("python_executor", "code", code=True),
        text_tool("get_weather", "city"),
        text_tool("current_time", "timezone", needed=False),
        text_tool("sql_query", "query"),
        BareTool(
            "convert_time",
            "Converts a time.",
            None,
            None,
            {
                "type": "object",
                "properties": {"time": {"type": "string"}, "zone": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["time", "zone"],
            },
        ),
    )
}


@dataclass(frozen=True)
class Wanted:
    """An outcome that is wanted: `kind` with what belongs to it."""

    kind: str
    tool: str = ""
    args: Any = None
    answer: str = ""
    calls: tuple[tuple[str, Any], ...] = ()


BAD = Wanted("malformed")


def act(tool: str, args: Any) -> Wanted:
    return Wanted("action", tool, args)


def acts(*calls: tuple[str, Any]) -> Wanted:
    return Wanted("actions", calls=calls)


def ans(text: str) -> Wanted:
    return Wanted("answer", answer=text)


def read(name: str, output: str | dict[str, Any], finish_reason: str | None = None) -> Parsed:
    """The reply as the dialect reads it, with the tools above."""
    tools: Sequence[ToolView] = list(TOOLS.values())
    if isinstance(output, dict):
        content = output.get("content")
        return dialect(name).parse(Reply(content if isinstance(content, str) else "", finish_reason, output), tools)
    message = json.loads(output) if name == "native" and output.startswith("{") else {"content": output}
    content = message.get("content")
    reply = Reply(content if isinstance(content, str) else "", finish_reason, message)
    return dialect(name).parse(reply, tools)


def got(parsed: Parsed) -> Wanted:
    """What was read, in the form of `Wanted`; the text of a text tool counts as its object."""
    if isinstance(parsed, Answer):
        return ans(parsed.text)
    if isinstance(parsed, Malformed):
        return BAD
    assert isinstance(parsed, Actions)
    calls = tuple((call.tool, bound(call)) for call in parsed.calls)
    return act(*calls[0]) if len(calls) == 1 else acts(*calls)


def fits(parsed: Parsed, wanted: Wanted) -> bool:
    """Whether the outcome is the wanted one."""
    if wanted.kind == "actions":
        return got(parsed) == acts(*((tool, bound(ToolRequest(tool, args))) for tool, args in wanted.calls))
    if wanted.kind == "action":
        return got(parsed) == act(wanted.tool, bound(ToolRequest(wanted.tool, wanted.args)))
    return got(parsed) == wanted


def bound(request: ToolRequest) -> Any:
    tool = TOOLS.get(request.tool)
    return bind(request, tool) if tool else request.args
