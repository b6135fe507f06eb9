"""Checks what the operator wrote: agents file, tool modules, prices."""

from __future__ import annotations

from collections.abc import Container, Iterator

from tools.registry import load_tools
from worker.agents import Agents, load_agents
from worker.cli.doctoring.finding import Finding, Level, Patient, fault
from worker.core.errors import UserError
from worker.llm.prices import PriceTable


def tools(patient: Patient) -> Iterator[Finding]:
    """Checks that every tool module can be loaded."""
    registry = load_tools(patient.settings.tool_modules)
    for problem in registry.problems:
        remedy = "Correct the module, or remove it from STEPMILL_TOOL_MODULES; `stepmill tools` lists what is loaded."
        yield fault("tools", "tool_module", f"{problem.module} was refused: {problem.reason}.", remedy)
    yield Finding("tools", f"{len(registry.tools)} tools in {len(registry.groups())} groups")


def agents(patient: Patient) -> Iterator[Finding]:
    """Checks that the agents file is readable, and that its dialects and tools exist."""
    try:
        found = load_agents(patient.settings)
    except UserError as error:
        yield fault("agents", "agents_file", error.message, error.hint or "Correct STEPMILL_AGENTS_FILE.")
        return
    patient.usable.add("agents")
    known = load_tools(patient.settings.tool_modules).tools
    for name in found.agents:
        yield from _agent(found, name, known)
    yield Finding("agents", f"{len(found.agents)} agents: {', '.join(sorted(found.agents))}")
    yield _practice(found)


def _agent(found: Agents, name: str, known: Container[str]) -> Iterator[Finding]:
    try:
        config = found.configuration(name)
    except UserError as error:
        yield fault("agents", "agent", f"Agent {name!r}: {error.message}", error.hint or "Correct the agents file.")
        return
    missing = [tool for tool in config.tools if tool not in known]
    if missing:
        message = f"Agent {name!r} names the tool {missing[0]!r}, which there is not."
        yield fault("agents", "agent_tool", message, "Add its module to STEPMILL_TOOL_MODULES, or correct the name.")


def _practice(found: Agents) -> Finding:
    simulated = [name for name in found.agents if _simulated(found, name)]
    if not simulated:
        return Finding("practice mode", "off: every agent asks a model of yours")
    who = "all agents are" if len(simulated) == len(found.agents) else f"{', '.join(sorted(simulated))}:"
    message = f"Practice mode: {who} answered by the practice model."
    return fault("practice mode", "practice", message, "Set STEPMILL_MODEL to ask a real one.", Level.WARNING)


def _simulated(found: Agents, name: str) -> bool:
    try:
        return found.configuration(name).simulated
    except UserError:
        return False  # already reported by the check of the agent itself


def prices(patient: Patient) -> Iterator[Finding]:
    """Checks that the user's price table is readable."""
    try:
        PriceTable.load(patient.settings.prices_file)
    except UserError as error:
        yield fault("prices", "prices_file", error.message, error.hint or "Correct STEPMILL_PRICES_FILE.")
        return
    yield Finding("prices", str(patient.settings.prices_file or "the table that ships"))
