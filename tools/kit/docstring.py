"""Reads a docstring as the model will see it: the description and one line for each parameter."""

from __future__ import annotations

import inspect
import re

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Yields|Raises|Examples?|Notes?):\s*$")
_PARAMETER = re.compile(r"^(\*{0,2}\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_SPHINX = re.compile(r"^:param\s+(?:[\w.\[\]| ]+\s)?(\w+):\s*(.*)$")
_TOLD_TO_THE_MODEL = frozenset({"Returns", "Example", "Examples", "Note", "Notes"})
_PARAMETERS = frozenset({"Args", "Arguments", "Parameters"})


def read_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    """Returns the description, and the parameters' descriptions by name. Skips `Raises`, which is for programmers."""
    description: list[str] = []
    parameters: dict[str, str] = {}
    for title, lines in _sections(inspect.cleandoc(text or "")):
        if title in _PARAMETERS:
            parameters |= _parameters(lines)
        elif title == "":
            kept, found = _without_sphinx(lines)
            description += kept
            parameters |= found
        elif title in _TOLD_TO_THE_MODEL:
            description += ["", f"{title}: {_joined(lines)}"]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(description)).strip(), parameters


def _sections(text: str) -> list[tuple[str, list[str]]]:
    sections: list[tuple[str, list[str]]] = [("", [])]
    for line in text.splitlines():
        title = _SECTION.match(line)
        if title:
            sections.append((title[1], []))
        elif sections[-1][0] and line and not line[0].isspace():
            sections.append(("", [line]))
        else:
            sections[-1][1].append(line)
    return sections


def _parameters(lines: list[str]) -> dict[str, str]:
    """Reads `name: text` or `name (type): text`; lines indented deeper than the first continue the one before."""
    found: dict[str, list[str]] = {}
    indent = next((len(line) - len(line.lstrip()) for line in lines if line.strip()), 0)
    current: list[str] = []
    for line in lines:
        own = _PARAMETER.match(line.strip()) if len(line) - len(line.lstrip()) <= indent else None
        if own:
            current = found.setdefault(own[1].lstrip("*"), [])
            current.append(own[2])
        else:
            current.append(line.strip())
    return {name: _joined(parts) for name, parts in found.items()}


def _without_sphinx(lines: list[str]) -> tuple[list[str], dict[str, str]]:
    matches = {index: match for index, line in enumerate(lines) if (match := _SPHINX.match(line.strip()))}
    kept = [line for index, line in enumerate(lines) if index not in matches]
    return kept, {match[1]: match[2].strip() for match in matches.values()}


def _joined(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())
