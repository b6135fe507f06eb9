"""Objects that name an offered tool: they are calls, whatever their keys are, unless they describe a call's outcome."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from worker.core.records import JsonObject, ToolRequest, ToolView
from worker.dialects.parsing.arguments import Refused, as_arguments
from worker.dialects.parsing.binding import properties
from worker.dialects.parsing.call_formats import MAX_CALLS, call_object
from worker.dialects.parsing.names import find_tool, is_plain_word
from worker.dialects.parsing.typed import valid

NAME_KEYS = frozenset({"name", "tool", "tool_name", "function", "function_name", "action"})
ARGS_KEYS = frozenset(
    {"arguments", "args", "parameters", "params", "input", "tool_input", "tool_args", "action_input", "kwargs"}
)
BESIDE = frozenset({"type", "id", "call_id", "tool_call_id", "index", "thought", "thoughts", "reasoning", "step"})
"""Keys that an object may have besides a tool's name and its arguments."""
_TOOL_KEYS = frozenset(
    {"tool", "toolname", "function", "functionname", "recipientname", "toolcall", "functioncall", "tooluse"}
)
"""The value at such a key is a tool; `name` or `action` may hold anything."""
_ACTING_KEYS = _TOOL_KEYS | {"name", "action", "call", "command", "cmd", "method", "operation", "invoke", "use"}
_CALL_TYPE = re.compile(r"tool|function|call", re.I)
_OUTCOME = re.compile(r"(?:.*_)?(?:results?|outputs?|answers?|observations?|responses?|returned|returns)", re.I)
_ABOUT = re.compile(
    r"(?:.*_)?(?:descriptions?|purpose|notes?|reasons?|why|explanation|confidence|costs?|counts?|calls|used|usage|"
    r"summary|status|errors?|duration|latency|title|label|version|schema|example)(?:_.*)?",
    re.I,
)
"""Keys of an object that describes a tool or a result."""
_WORD = re.compile(r"[\w.\-:/]{1,64}")


def strict_json(text: str, at: int, end: int | None = None) -> Any:
    """Returns the JSON value at `at`; None if there is none, or if it does not end at `end`."""
    value, ends = json_at(text, at)
    return value if end is None or ends == end else None


def json_at(text: str, at: int) -> tuple[Any, int]:
    """Returns the JSON value at `at` and its end; None if there is none."""
    try:
        return json.JSONDecoder().raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at


def known(name: str, tools: Sequence[ToolView]) -> bool:
    """Whether a word is an offered tool's name, ignoring decoration."""
    return _tool(name, tools) is not None


def enveloped(value: Any) -> list[Any]:
    """Returns the objects in a list, a chat message or another object with one list; else the value itself."""
    if isinstance(value, dict) and isinstance(value.get("function_call"), dict):
        return [value["function_call"]]
    lists = [value] if isinstance(value, list) else []
    if isinstance(value, dict):
        lists = [inner for inner in value.values() if isinstance(inner, list)]
    held = list(lists[0][:MAX_CALLS]) if len(lists) == 1 else []
    return held if any(isinstance(item, dict) for item in held) else [value]


def is_call(value: Any, tools: Sequence[ToolView]) -> bool:
    """Whether an object is a known tool's call, by the keys of a known format or by its content."""
    if not isinstance(value, dict):
        return False
    if isinstance(call_object(value, tools), ToolRequest) or _has_known_keys(value, tools):
        return True
    if len(value) == 1:
        name, args = next(iter(value.items()))
        return (known(name, tools) and takes(name, args, tools)) or (isinstance(args, dict) and is_call(args, tools))
    names = [key for key, inner in value.items() if isinstance(inner, str) and known(inner, tools)]
    return len(names) == 1 and _gives(value, names[0], tools)


def is_meant(value: Any, tools: Sequence[ToolView]) -> bool:
    """Whether an object that is the whole text, or ends it, can only be meant as a call, however faulty.

    It names an offered tool at a key for tools only, or next to something like one of its parameters; and nothing in
    it describes a call's outcome or the tool's purpose.
    """
    if isinstance(value, list):
        others = value[1:]
        named = bool(others) and isinstance(value[0], str) and known(value[0], tools)
        return (
            named
            and (not is_plain_word(value[0]) or isinstance(others[0], dict))
            and not any(isinstance(other, str) and known(other, tools) for other in others)
        )
    if not isinstance(value, dict) or any(_OUTCOME.fullmatch(key) for key in value):
        return False
    if len(value) == 1 and known(name := next(iter(value)), tools):
        return isinstance(value[name], (str, list)) and not is_plain_word(name)
    for key, inner in value.items():
        tool = _tool(inner, tools) if isinstance(inner, str) and _plain(key) in _ACTING_KEYS else None
        if tool is not None and _seems_given(value, key, tool):
            return True
        if (
            isinstance(inner, dict)
            and _plain(key) in _ACTING_KEYS
            and (is_meant(inner, tools) or is_call(inner, tools))
        ):
            return True
    return False


def _seems_given(value: JsonObject, key: str, tool: ToolView) -> bool:
    others = [other for other in value if other != key and not _is_beside(other)]
    if any(_resembles(other, name) for other in others for name in [*properties(tool), *ARGS_KEYS]):
        return not any(_ABOUT.fullmatch(other) for other in others if other not in properties(tool))
    return _plain(key) in _TOOL_KEYS and not any(_ABOUT.fullmatch(other) for other in others)


def _resembles(key: str, parameter: str) -> bool:
    """Whether a key is a parameter's name in another number, case or length (`queries`, `searchQuery`, `q`)."""
    ours, theirs = _words(key), _words(parameter)
    if set(ours) & set(theirs):
        return True
    return any(mine and (yours.startswith(mine) or mine.startswith(yours)) for mine in ours for yours in theirs)


def _plain(key: str) -> str:
    return key.replace("_", "").casefold()


def _is_beside(key: str) -> bool:
    return key in BESIDE or _is_id(key)


def _is_id(key: str) -> bool:
    return key in ("id", "ID") or key.endswith(("_id", "Id"))


def _words(name: str) -> list[str]:
    words = re.split(r"[_\W]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).casefold())
    return [re.sub(r"ies$", "y", word).removesuffix("s") for word in words if word]


def object_call(value: Any, tools: Sequence[ToolView]) -> ToolRequest | None:
    """Returns the object's call if its name and arguments fit an offered tool in exactly one reading."""
    found = [call for call in _readings(value, tools) if _fits(call, tools)]
    return found[0] if found and all(call == found[0] for call in found) else None


def _fits(call: ToolRequest, tools: Sequence[ToolView]) -> bool:
    tool = _tool(call.tool, tools)
    return tool is not None and valid(call.args, tool)


def _readings(value: Any, tools: Sequence[ToolView]) -> Iterator[ToolRequest]:
    """Yields each way to read an object as a call of an offered tool."""
    if not isinstance(value, dict):
        return
    only = [key for key in value if not _is_beside(key)]
    if len(only) == 1:
        key, inner = only[0], value[only[0]]
        named = _tool(key, tools)
        if named is not None and isinstance(inner, dict):
            yield ToolRequest(named.name, inner)
        elif _plain(key) in _ACTING_KEYS:
            yield from _readings(inner, tools)
        return
    for key, inner in value.items():
        tool = _tool(inner, tools) if isinstance(inner, str) and _plain(key) in _ACTING_KEYS else None
        if tool is None:
            continue
        if is_plain_word(inner) and _plain(key) not in _TOOL_KEYS and not set(value) & ARGS_KEYS:
            continue  # `{"action": "read", "path": …}` may just as well describe something that was done
        own = properties(tool)
        given = {name: item for name, item in value.items() if name != key and (name in own or not _is_beside(name))}
        yield from _arguments(given, tool)


def _arguments(given: JsonObject, tool: ToolView) -> Iterator[ToolRequest]:
    """Yields requests for arguments side by side, or as one value at a key of their own."""
    if set(given) <= set(properties(tool)) and given:
        yield ToolRequest(tool.name, given)
    if len(given) == 1 and (key := next(iter(given))).casefold() in ARGS_KEYS | {"with"}:
        args = as_arguments(given[key], tool) if isinstance(given[key], (dict, str)) else None
        if isinstance(args, str) and tool.text_parameter is not None:
            args = {tool.text_parameter: args}
        if args is not None and not isinstance(args, Refused):
            yield ToolRequest(tool.name, args)


def takes(name: str, args: Any, tools: Sequence[ToolView]) -> bool:
    """Whether these are arguments of the tool, and at least one."""
    tool = _tool(name, tools)
    if tool is None or not isinstance(args, dict) or not args:
        return False
    return set(args) <= set(properties(tool))


def _tool(name: str, tools: Sequence[ToolView]) -> ToolView | None:
    named = find_tool(name, tools) if _WORD.fullmatch(name.strip()) else None
    return named.tool if named is not None else None


def _gives(value: JsonObject, key: str, tools: Sequence[ToolView]) -> bool:
    """Whether an object that names a tool at `key` also gives its arguments, as one object or side by side."""
    name = value[key]
    beside = {other: inner for other, inner in value.items() if other != key and not _is_beside(other)}
    nested = {other: inner for other, inner in beside.items() if isinstance(inner, dict)}
    if len(nested) == 1:
        where, inner = next(iter(nested.items()))
        told = any(_OUTCOME.fullmatch(other) for other in beside)
        alone = len(beside) == 1 or _CALL_TYPE.search(str(value.get("type"))) or (where in ARGS_KEYS and not told)
        return bool(alone) and takes(name, inner, tools)
    return not nested and takes(name, beside, tools) and not takes(name, {key: name}, tools)


def _has_known_keys(value: JsonObject, tools: Sequence[ToolView]) -> bool:
    if not all(key in NAME_KEYS | ARGS_KEYS | {"type"} or _is_id(key) for key in value):
        return False
    named = any(known(value[key].strip(), tools) for key in NAME_KEYS if isinstance(value.get(key), str))
    return named and any(isinstance(value[key], (dict, str, type(None))) for key in ARGS_KEYS & set(value))
