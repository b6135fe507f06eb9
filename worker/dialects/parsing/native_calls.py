"""Reads the tool calls of a chat message, in every form and with every fault that endpoints produce."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from worker.core.provider_extras import call_extra
from worker.core.records import JsonObject, ToolRequest, ToolView
from worker.dialects.parsing.arguments import Given, Refused, as_arguments, nothing_given
from worker.dialects.parsing.binding import needs_input
from worker.dialects.parsing.lenient import read_value
from worker.dialects.parsing.names import find_tool
from worker.dialects.parsing.strings import Unreadable
from worker.dialects.parsing.tidy import trim_tokens

_JUNK = re.compile(r"(?:[\s}\]`;,.]|</?tool_call>|</?function(?:=\w+)?>|</?tool>|<[|｜][^<>|｜\n]{1,40}[|｜]>)*")
_ARGS = ("arguments", "parameters", "args", "input", "arguments_json")


@dataclass(frozen=True, slots=True)
class Requested:
    """The calls of a message, each with a unique id, and what was left out."""

    calls: tuple[ToolRequest, ...]
    dropped: tuple[str, ...] = ()


def requested(message: JsonObject, tools: Sequence[ToolView]) -> Requested | str:
    """Returns the message's calls in order, possibly none; or why they cannot be read."""
    items = message.get("tool_calls")
    if isinstance(items, dict):
        items = [items]
    content = message.get("content")
    if not items and isinstance(content, list):
        items = [part for part in content if isinstance(part, dict) and part.get("type") in ("tool_use", "tool_call")]
    if not isinstance(items, list) or not items:
        old = message.get("function_call")
        items = [{"function": old}] if isinstance(old, dict) and old.get("name") else []
    calls: list[ToolRequest] = []
    dropped: list[str] = []
    for item in items:
        call = _call(item, tools)
        if isinstance(call, str):
            return call
        if any(call == other and call.call_id for other in calls):
            dropped.append(f"a repeated call of {call.tool} with the same id")
            continue
        calls.append(call)
    return Requested(_with_ids(calls), tuple(dropped))


def read_call(name: object, arguments: Any, tools: Sequence[ToolView], call_id: str | None = None) -> ToolRequest | str:
    """Reads one call from its name and arguments; or returns why it cannot be read."""
    if not isinstance(name, str) or not name.strip():
        return "A tool call has no name."
    named = find_tool(name, tools)
    if named is None:
        return f'"{name[:80]}" is not the name of one tool.'
    if re.search(r"[(（]\s*[^\s)）]", name):
        return f'"{name[:80]}" holds arguments, which do not belong in a name.'
    args = _arguments(arguments, named.tool)
    if isinstance(args, Refused):
        return args.reason
    return ToolRequest(named.name, args, call_id)


def _call(item: Any, tools: Sequence[ToolView]) -> ToolRequest | str:
    if not isinstance(item, dict):
        return "A tool call is not an object."
    function = item.get("function")
    body: JsonObject = function if isinstance(function, dict) else item
    name = body.get("name") or (function if isinstance(function, str) else item.get("name"))
    arguments = next((body[key] for key in _ARGS if key in body), item.get("arguments"))
    call_id = item.get("id") or item.get("call_id") or item.get("tool_call_id")
    call = read_call(name, arguments, tools, str(call_id) if call_id else None)
    return call if isinstance(call, str) else replace(call, extra=call_extra(item))


def _with_ids(calls: list[ToolRequest]) -> tuple[ToolRequest, ...]:
    """Gives the calls unique ids: endpoints refuse a conversation in which two calls share one."""
    seen: set[str] = set()
    numbered: list[ToolRequest] = []
    for index, call in enumerate(calls, start=1):
        wanted = call.call_id or f"call_{index}"
        while wanted in seen:
            wanted = f"{wanted}_{index}"
        seen.add(wanted)
        numbered.append(replace(call, call_id=wanted))
    return tuple(numbered)


def _arguments(arguments: Any, tool: ToolView | None) -> JsonObject | str | Refused:
    if isinstance(arguments, str):
        return _from_text(arguments, tool)
    if arguments is None or arguments == []:
        return _none(tool)
    return as_arguments(arguments, tool)


def _none(tool: ToolView | None) -> JsonObject | str | Refused:
    if tool is None:
        return {}
    given = nothing_given(tool, 0)
    return given.args if isinstance(given, Given) else given


def _from_text(text: str, tool: ToolView | None) -> JsonObject | str | Refused:
    stripped = trim_tokens(text)
    stripped = re.sub(r"^json\s*(?=\{)", "", stripped, flags=re.I)
    if stripped.startswith("```"):
        stripped = re.sub(r"^```\w*\s*|\s*```$", "", stripped)
    if stripped.lower() in ("", "null", "none"):
        return _none(tool)
    try:
        read = read_value(stripped)
    except Unreadable as error:
        return _plain(stripped, tool, error)
    rest = stripped[read.end :]
    if rest.lstrip().startswith("{"):
        return _second_object(read.value, rest, tool)
    if _JUNK.fullmatch(rest):
        return _value(read.value, stripped, tool)
    return _plain(stripped, tool, Unreadable("text follows the arguments"))


def _value(value: Any, text: str, tool: ToolView | None) -> JsonObject | str | Refused:
    if value == {} and not needs_input(tool):
        return {}
    if isinstance(value, (int, float)) and not isinstance(value, bool) and tool is not None and tool.text_parameter:
        return text
    return as_arguments(value, tool)


def _second_object(first: Any, rest: str, tool: ToolView | None) -> JsonObject | str | Refused:
    """Reads `{}{"city": …}`, `{"city": …}{}` and doubled arguments, as streaming endpoints join them; refuses two that
    differ, since either could be meant."""
    try:
        second = read_value(rest)
    except Unreadable:
        return Refused("The arguments are not one JSON object.")
    if _JUNK.fullmatch(rest[second.end :]) and (not first or not second.value or first == second.value):
        return as_arguments(first or second.value, tool)
    return Refused("The arguments are two JSON objects; make two calls.")


def _plain(text: str, tool: ToolView | None, error: Unreadable) -> JsonObject | str | Refused:
    """Reads text that is no JSON as the input of a text tool, unless JSON was meant."""
    meant_json = text[:1] in "{[\"'"
    if meant_json or tool is None or tool.text_parameter is None:
        return Refused(f"The arguments are not valid JSON: {error}.")
    return text
