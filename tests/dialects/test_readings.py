"""Readings that change on purpose only.

`readings.jsonl` holds those that were looked at one by one and found right, `wanted.jsonl` those whose outcome was
written down before any parser saw the reply.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.dialects.outcomes import BAD, Wanted, act, acts, ans, fits, read


def _lines(name: str) -> list[dict[str, Any]]:
    # Not splitlines(): replies hold separators of their own.
    return [json.loads(line) for line in Path(__file__).with_name(name).read_text("utf-8").strip("\n").split("\n")]


FILES = ("readings.jsonl", "wanted.jsonl")
READINGS = [
    pytest.param(one, id=f"{Path(name).stem}-{one['dialect']}-{at}")
    for name in FILES
    for at, one in enumerate(_lines(name), 1)
]


@pytest.mark.parametrize("reading", READINGS)
def test_a_reply_is_still_read_as_it_was_found_right(reading: dict[str, Any]) -> None:
    parsed = read(reading["dialect"], reading["output"])
    assert fits(parsed, _wanted(reading)), f"{reading['output']!r} was read as {parsed}"


def _wanted(reading: dict[str, Any]) -> Wanted:
    if reading["kind"] == "malformed":
        return BAD
    if reading["kind"] == "answer":
        return ans(reading["answer"])
    if "calls" in reading:
        return acts(*((call["tool"], call["args"]) for call in reading["calls"]))
    return act(reading["tool"], reading["args"])
