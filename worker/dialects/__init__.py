"""How a model is asked to write actions and answers, and how its reply is read: one file a dialect."""

from __future__ import annotations

from worker.core.records import Dialect
from worker.dialects.json_objects import JsonObjects
from worker.dialects.native import Native
from worker.dialects.react_brackets import ReactBrackets
from worker.dialects.react_call import ReactCall
from worker.dialects.react_json import ReactJson
from worker.dialects.react_text import ReactText

DIALECTS: dict[str, Dialect] = {
    found.name: found
    for found in (
        ReactJson(),
        ReactText(),
        ReactBrackets(),
        ReactCall(),
        JsonObjects(),
        Native(),
    )
}
"""The dialects by name."""


class UnknownDialect(ValueError):
    """No dialect has this name; the message lists those that exist."""


def dialect(name: str) -> Dialect:
    """Returns the dialect with that name. Raises UnknownDialect."""
    if name not in DIALECTS:
        raise UnknownDialect(f'There is no dialect "{name}". Known: {", ".join(DIALECTS)}.')
    return DIALECTS[name]
