"""`--template "Classify {title}"`: makes a question from a line's columns. Names only, no attribute access."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any


class BadLine(Exception):
    """A line that cannot be a question; `reason` is for the person who wrote it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


_PART = re.compile(r"\{\{|\}\}|\{([^{}]+)\}|[{}]")


class Template:
    """A text with `{name}` for a column's value; `{{` and `}}` are braces. Raises `ValueError` for a bad template."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: list[str] = []
        for part in _PART.finditer(text):
            if part.group() in "{}":
                raise ValueError(f"The template has a single {part.group()!r} at character {part.start() + 1}.")
            if part.group(1):
                self.names.append(part.group(1).strip())
        if not self.names:
            raise ValueError("The template names no column; write one as {title}.")

    def missing(self, columns: Iterable[str]) -> list[str]:
        """Returns the names that are not among the columns."""
        known = set(columns)
        return [name for name in dict.fromkeys(self.names) if name not in known]

    def fill(self, fields: Mapping[str, Any]) -> str:
        """Returns the question for a line. Raises `BadLine` naming the missing field."""

        def value(part: re.Match[str]) -> str:
            if part.group(1) is None:
                return part.group()[0]
            name = part.group(1).strip()
            if fields.get(name) is None:
                raise BadLine(f'has no "{name}", which the template needs')
            return as_text(fields[name])

        return _PART.sub(value, self.text)


def as_text(value: Any) -> str:
    """Returns text unchanged and anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
