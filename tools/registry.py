"""Finds the tools there are: built-in ones, modules that the operator names, and packages' entry points.

A module that cannot be loaded becomes a problem with its reason and does not stop the others.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points

from tools.base import Tool
from tools.builtin import MODULES

ENTRY_POINTS = "stepmill.tools"


@dataclass(frozen=True, slots=True)
class Problem:
    """A module (or entry point) of which something was refused, and why."""

    module: str
    reason: str


@dataclass(frozen=True, slots=True)
class Registry:
    """The tools by name, built-in ones first, and what was refused."""

    tools: dict[str, Tool] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def groups(self) -> dict[str, list[Tool]]:
        """The tools of each group; a group is served by the queue `tools.<group>`."""
        found: dict[str, list[Tool]] = {}
        for tool in self.tools.values():
            found.setdefault(tool.group, []).append(tool)
        return found

    def known(self, names: Iterable[str]) -> list[Tool]:
        """The tools of these names, in their order; a name that no tool has is passed over."""
        return [self.tools[name] for name in names if name in self.tools]

    def add(self, tool: Tool, module: str) -> None:
        """Take a tool in, or note a clash: names differ by more than case, since models write either."""
        if any(known is tool for known in self.tools.values()):
            return
        taken = next((known for name, known in self.tools.items() if name.casefold() == tool.name.casefold()), None)
        if taken is None:
            self.tools[tool.name] = tool
            return
        reason = f"tool {tool.name} ({tool.origin}) clashes with {taken.origin}; rename it with @tool(name=…)"
        self.problems.append(Problem(module, reason))


def load_tools(modules: Sequence[str] = ()) -> Registry:
    """Built-in tools, then `modules`, then installed entry points. Never raises for what a module does."""
    registry = Registry()
    for module in dict.fromkeys((*MODULES, *modules)):
        _load_module(registry, module)
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        _load_entry_point(registry, point)
    return registry


def _load_module(registry: Registry, name: str) -> None:
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:  # a user's module may raise anything
        registry.problems.append(Problem(name, _reason(error)))
        return
    _add_all(registry, vars(module).values(), name)


def _load_entry_point(registry: Registry, point: EntryPoint) -> None:
    source = f"{point.name} = {point.value}"
    try:
        loaded = point.load()
    except (Exception, SystemExit) as error:  # a package's module may raise anything
        registry.problems.append(Problem(source, _reason(error)))
        return
    _add_all(registry, [loaded] if isinstance(loaded, Tool) else vars(loaded).values(), source)


def _add_all(registry: Registry, values: Iterable[object], module: str) -> None:
    found = [value for value in values if isinstance(value, Tool)]
    for tool in found:
        registry.add(tool, module)
    if not found:
        registry.problems.append(Problem(module, "it has no tools; decorate a function with @tool from tools.base"))


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if type(error).__name__ == "BadTool" else f"{type(error).__name__}: {text}".removesuffix(": ")
