"""The arguments that a reply gives, once they are read: an object or text, or the reason why there are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from worker.core.records import JsonObject, ToolView
from worker.dialects.parsing.binding import needs_input, properties
from worker.dialects.parsing.lenient import read_value
from worker.dialects.parsing.strings import Unreadable

_CALL_NAMES = ("name", "tool", "tool_name", "action", "function")
_CALL_ARGS = ("arguments", "args", "parameters", "input", "action_input", "tool_input", "tool_args")
_NOTHING = frozenset(
    (
        "", "none", "null", "nil", "n/a", "{}", "-", "无", "\"\"", "''", "no input", "no input needed",
        "no input required", "no input necessary", "not needed", "not required", "not applicable", "none needed",
        "none required", "no parameters", "no parameters needed", "no arguments", "no arguments needed",
        "does not require input",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Given:
    """Arguments read from a reply; `end` is where they end."""

    args: JsonObject | str
    end: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The input cannot be read; `reason` is for the model."""

    reason: str


def nothing_given(tool: ToolView | None, end: int) -> Given | Refused:
    """Handles a call without input: valid if the tool needs none."""
    if not needs_input(tool):
        return Given({}, end)
    name = tool.name if tool else "the tool"
    return Refused(
        f"The input of {name} is missing: it needs {parameters_of(tool)}." if tool else "The input is missing."
    )


def as_arguments(value: Any, tool: ToolView | None) -> JsonObject | str | Refused:
    """Reads a JSON value as arguments: an object, also encoded twice or in a list; text for a text tool."""
    if value == [] or (isinstance(value, str) and says_nothing(value)):
        given = nothing_given(tool, 0)
        return given if isinstance(given, Refused) else {}
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and _fits(value[0], tool):
        return value[0]
    if isinstance(value, str):
        return _from_string(value, tool)
    if isinstance(value, dict):
        return _repeated_call(value, tool) or value
    return Refused(f"The input must be one JSON object, not {_kind(value)}.")


def says_nothing(text: str) -> bool:
    """Whether a text means "no input" ("None", "N/A", "no input needed")."""
    return text.strip().strip("()[]").rstrip(".").strip().lower() in _NOTHING


def _fits(value: JsonObject, tool: ToolView | None) -> bool:
    """Whether an object can be the tool's arguments: it has one of its parameters, if these are known."""
    known = properties(tool) if tool else []
    return not known or any(name in value for name in known)


def _repeated_call(value: JsonObject, tool: ToolView | None) -> JsonObject | None:
    """Returns the inner arguments if the input repeats the whole call (`{"name": the tool, "arguments": {…}}`)."""
    if tool is None or len(value) != 2 or set(value) & set(properties(tool)):
        return None
    names = [value[key] for key in _CALL_NAMES if key in value]
    inner = [value[key] for key in _CALL_ARGS if key in value]
    if names != [tool.name] or len(inner) != 1 or not isinstance(inner[0], dict):
        return None
    return inner[0]


def _from_string(value: str, tool: ToolView | None) -> JsonObject | str | Refused:
    listed = _listed(value, tool) if value.lstrip().startswith("[") else None
    if listed is not None:
        return listed
    if value.lstrip().startswith(("{", '"{', '"\\"')):
        try:
            inner = read_value(value)
        except Unreadable:
            inner = None
        if inner is not None and not value[inner.end :].strip():
            if isinstance(inner.value, dict):
                return inner.value
            if isinstance(inner.value, str) and inner.value.lstrip().startswith("{"):
                return _from_string(inner.value, tool)
    if tool is not None and tool.text_parameter is None:
        return Refused(f"The input of {tool.name} must be one JSON object with {parameters_of(tool)}, not a string.")
    return value


def _listed(value: str, tool: ToolView | None) -> JsonObject | Refused | None:
    """Returns the object in a list written as a string; None if the string is no list of the tool's arguments."""
    try:
        read = read_value(value)
    except Unreadable:
        return None
    items = read.value if isinstance(read.value, list) and not value[read.end :].strip() else []
    known = set(properties(tool)) if tool else set()
    if not items or not all(isinstance(item, dict) and set(item) & known for item in items):
        return None
    one: JsonObject = items[0]
    return one if len(items) == 1 else Refused("The input is a list of several inputs. Make one call for each.")


def parameters_of(tool: ToolView | None) -> str:
    names = properties(tool) if tool else []
    return "the parameters " + ", ".join(names) if names else "its parameters"


def _kind(value: Any) -> str:
    return {list: "a list", bool: "a truth value", int: "a number", float: "a number"}.get(type(value), "null")
