"""Turns the arguments of a reply into the object that a tool takes."""

from __future__ import annotations

from dataclasses import dataclass

from worker.core.records import JsonObject, ToolRequest, ToolView


@dataclass(frozen=True, slots=True)
class Unbound:
    """The call gives plain text, but the tool has no single text parameter; `reason` is for the model."""

    reason: str


def bind(request: ToolRequest, tool: ToolView) -> JsonObject | Unbound:
    """Returns the arguments as an object: text becomes the tool's text parameter. Does not validate values."""
    if not isinstance(request.args, str):
        return request.args
    if tool.text_parameter is not None:
        return {tool.text_parameter: request.args}
    if not request.args.strip():
        return {}
    names = ", ".join(properties(tool)) or "none"
    return Unbound(f"{tool.name} takes a JSON object with its parameters ({names}), not plain text.")


def properties(tool: ToolView) -> list[str]:
    """Returns the names of the tool's parameters, in the schema's order."""
    found = tool.parameters.get("properties")
    return list(found) if isinstance(found, dict) else []


def required(tool: ToolView) -> list[str]:
    """Returns the names of the required parameters."""
    found = tool.parameters.get("required")
    return [str(name) for name in found] if isinstance(found, (list, tuple)) else []


def needs_input(tool: ToolView | None) -> bool:
    """Whether a call needs arguments; assumed of an unknown tool."""
    return tool is None or bool(required(tool))
