"""Finds the available tools: built-in ones, modules that the operator names, and packages' entry points.

A module that cannot be loaded becomes a problem with its reason and does not stop the others.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from tools.base import BadTool, Tool
from tools.builtin import MODULES
from tools.kit.failures import described, message_of
from tools.kit.modules import OURS, BadModule, expanded, load

T = TypeVar("T")
_HERE = str(Path(__file__).resolve().parent)
ENTRY_POINTS = "stepmill.tools"


@dataclass(frozen=True, slots=True)
class Problem:
    """A module (or entry point) that was refused, entirely or in part, and why."""

    module: str
    reason: str


@dataclass(frozen=True, slots=True)
class Registry:
    """The tools by name, built-in ones first, and the problems."""

    tools: dict[str, Tool] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def groups(self) -> dict[str, list[Tool]]:
        """Returns the tools of each group; the queue `tools.<group>` serves a group."""
        found: dict[str, list[Tool]] = {}
        for tool in self.tools.values():
            found.setdefault(tool.group, []).append(tool)
        return found

    def known(self, names: Iterable[str]) -> list[Tool]:
        """Returns the tools with these names, in their order; ignores unknown names."""
        return [self.tools[name] for name in names if name in self.tools]

    def add(self, tool: Tool, module: str) -> None:
        """Adds a tool, or records a clash: names must differ by more than case, since models write either."""
        if any(known is tool for known in self.tools.values()):
            return
        taken = next((known for name, known in self.tools.items() if name.casefold() == tool.name.casefold()), None)
        if taken is None:
            self.tools[tool.name] = tool
            return
        reason = f"tool {tool.name} ({tool.origin}) clashes with {taken.origin}; rename it with @tool(name=…)"
        self.problems.append(Problem(module, reason))


def load_tools(modules: Sequence[str] = ()) -> Registry:
    """Loads built-in tools, then `modules` (names and paths), then entry points. Never raises for their errors."""
    registry = Registry()
    for entry in dict.fromkeys((*MODULES, *modules)):
        _load_entry(registry, entry)
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        source = f"{point.name} = {point.value}"
        loaded = _attempt(registry, source, point.load)
        if loaded is not None:
            _add_all(registry, _tools_of(loaded), source)
    return registry


def _load_entry(registry: Registry, entry: str) -> None:
    """Loads an entry. A directory's files may all offer tools; files without tools count as helpers of the others."""
    names = _attempt(registry, entry, lambda: expanded(entry)) or []
    found: list[Tool] = []
    before = len(registry.problems)
    for name in names:
        module = _attempt(registry, name, lambda one=name: load(one))  # type: ignore[misc]
        found += [] if module is None else _tools_of(module)
    if names and (found or len(registry.problems) == before):
        _add_all(registry, found, entry)


def _attempt(registry: Registry, source: str, work: Callable[[], T]) -> T | None:
    """Returns None and records a problem if a module raises anything, except for a real Ctrl-C."""
    try:
        return work()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a user's module may raise anything
        registry.problems.append(Problem(source, _reason(error)))
        return None


def _tools_of(loaded: object) -> list[Tool]:
    """Returns a tool, or a module's top-level ones; for a package also those of its modules that it imported."""
    if isinstance(loaded, Tool):
        return [loaded]
    found: list[Tool] = []
    waiting, seen = [loaded], {id(loaded)}
    while waiting:
        module = waiting.pop(0)
        for value in list(vars(module).values()):
            if isinstance(value, Tool):
                found.append(value)
            elif isinstance(value, ModuleType) and _is_below(value, module) and id(value) not in seen:
                seen.add(id(value))
                waiting.append(value)
    return found


def _is_below(module: ModuleType, package: object) -> bool:
    return module.__name__.startswith(f"{getattr(package, '__name__', '')}.")


def _add_all(registry: Registry, found: Sequence[Tool], source: str) -> None:
    for tool in found:
        registry.add(tool, source)
    if not found:
        registry.problems.append(Problem(source, "it has no tools; decorate a function with @tool from tools.base"))


def _reason(error: BaseException) -> str:
    """Says what was raised, where in the module, and the remedy if the name of a package is ours."""
    text = " ".join(message_of(error).split())
    if isinstance(error, BadModule):
        return text
    said = text if isinstance(error, BadTool) else described(error)
    ours = (error.name or "").partition(".")[0] if isinstance(error, ImportError) else ""
    remedy = f"; `{ours}` is stepmill's own package here: rename yours" if ours in OURS else ""
    return f"{' '.join(said.split())}{_place(error)}{remedy}"


def _place(error: BaseException) -> str:
    """Returns the last line that ran outside the import machinery and our own code."""
    if isinstance(error, SyntaxError):
        return ""  # the error says it itself
    lines = [
        (frame.filename, frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(("<frozen", _HERE)) and "importlib" not in frame.filename
    ]
    return f" ({Path(lines[-1][0]).name}, line {lines[-1][1]})" if lines else ""
