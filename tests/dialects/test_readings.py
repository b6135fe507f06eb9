"""Readings that were looked at one by one and found right: they change on purpose only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.dialects.outcomes import BAD, Wanted, act, acts, ans, fits, read

LINES = Path(__file__).with_name("readings.jsonl").read_text(encoding="utf-8").strip("\n").split("\n")
READINGS: list[dict[str, Any]] = [json.loads(line) for line in LINES]


@pytest.mark.parametrize("reading", READINGS, ids=[f"{one['dialect']}-{at}" for at, one in enumerate(READINGS, 1)])
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
