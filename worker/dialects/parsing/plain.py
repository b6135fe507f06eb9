"""Writes arguments as plain text if that can be read back, else as JSON."""

from __future__ import annotations

import json

from worker.core.records import JsonObject


def single_text(args: JsonObject | str) -> str | None:
    """Returns the arguments as plain text: the only value, if it is a non-blank string; else None."""
    if isinstance(args, str):
        return args
    if len(args) == 1:
        value = next(iter(args.values()))
        return value if isinstance(value, str) else None
    return None


def as_json(args: JsonObject | str) -> str:
    """Returns the arguments as one line of JSON, with brackets in strings escaped so that none can close the input."""
    value = args if isinstance(args, dict) else {"input": args}
    return json.dumps(value, ensure_ascii=False)
