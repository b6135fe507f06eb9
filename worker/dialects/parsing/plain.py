"""Arguments written as plain text where that can be read back, as JSON where it cannot."""

from __future__ import annotations

import json

from worker.core.records import JsonObject


def single_text(args: JsonObject | str) -> str | None:
    """The text that stands for the arguments: the only value, if it is a string with something in it."""
    if isinstance(args, str):
        return args
    if len(args) == 1:
        value = next(iter(args.values()))
        return value if isinstance(value, str) else None
    return None


def as_json(args: JsonObject | str) -> str:
    """The arguments as one line of JSON; brackets inside strings are escaped, so that none can close the input."""
    value = args if isinstance(args, dict) else {"input": args}
    return json.dumps(value, ensure_ascii=False)
