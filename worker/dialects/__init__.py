"""How a model is asked to write actions and answers, and how its reply is read: one file a dialect."""

from __future__ import annotations

from worker.core.records import Dialect
from worker.dialects.react_json import ReactJson

DIALECTS: dict[str, Dialect] = {found.name: found for found in (ReactJson(),)}
"""The dialects by name."""


class UnknownDialect(ValueError):
    """A name that no dialect has; the message names those there are."""


def dialect(name: str) -> Dialect:
    """The dialect of that name. Raises UnknownDialect."""
    if name not in DIALECTS:
        raise UnknownDialect(f'There is no dialect "{name}". Known: {", ".join(DIALECTS)}.')
    return DIALECTS[name]
